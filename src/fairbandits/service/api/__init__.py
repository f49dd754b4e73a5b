"""The API: what comes over HTTP, checked, handed on and answered."""

from fairbandits.service.api.app import app_from_environment, create_app

__all__ = ["app_from_environment", "create_app"]
