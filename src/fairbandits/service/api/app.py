"""The application: all routes put together, around one engine."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from fastapi import FastAPI

from fairbandits import __version__
from fairbandits.service.api import arms, decisions, openapi, operations, problems, rewards
from fairbandits.service.api.schemas import Schemas
from fairbandits.service.api.timing import Timing
from fairbandits.service.config import Config, load_config
from fairbandits.service.demo import demo_config
from fairbandits.service.engine import Engine
from fairbandits.service.metrics import Metrics

#: Where a worker process finds its configuration; without it, the demo's.
CONFIG_VARIABLE = "FAIRBANDITS_CONFIG"
_SWITCH_SECONDS = 0.0005


def create_app(config: Config) -> FastAPI:
    """Make the application: ASGI, to be run by uvicorn or any other server.

    Parameters
    ----------
    config : Config
        What it is told.
    """
    engine = Engine(config)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await engine.start()
        try:
            with _tuned():
                yield
        finally:
            await engine.stop()

    schemas, metrics = Schemas(config), Metrics(engine)
    app = FastAPI(title=config.title, version=__version__, lifespan=lifespan, redoc_url=None)
    app.state.engine = engine
    # The busiest come first, and all are the app's own: routes are looked for one after the other.
    decisions.add_routes(app, engine, schemas)
    rewards.add_routes(app, engine, schemas)
    arms.add_routes(app, engine, schemas)
    operations.add_routes(app, engine, metrics)
    openapi.describe(app, schemas)
    problems.install(app)
    app.add_middleware(Timing, metrics=metrics)
    return app


@contextmanager
def _tuned() -> Iterator[None]:
    """Run the interpreter as a server needs it."""
    # What is there by now stays: to look through it for garbage again and again makes requests wait.
    gc.collect()
    gc.freeze()
    # The thread that writes needs the interpreter a few times a batch, each time for a moment.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.unfreeze()


def app_from_environment() -> FastAPI:
    """Make the application of the configuration that the environment names, as worker processes do."""
    path = os.environ.get(CONFIG_VARIABLE)
    return create_app(load_config(path) if path else demo_config())
