"""The demo: videos for students, based on the embedded stand-in data, and simulated students who visit it."""

from fairbandits.service.demo.students import (
    DemoStudents,
    demo_config,
    load_config_or_demo,
    prepare_config_or_demo,
)

__all__ = ["DemoStudents", "demo_config", "load_config_or_demo", "prepare_config_or_demo"]
