"""The application: all routes put together, around one engine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from fairbandits import __version__
from fairbandits.service.api import arms, decisions, openapi, operations, problems, rewards
from fairbandits.service.api.schemas import Schemas
from fairbandits.service.api.timing import Timing
from fairbandits.service.config import Config, load_config
from fairbandits.service.demo import demo_config
from fairbandits.service.engine import Engine
from fairbandits.service.metrics import Metrics
from fairbandits.service.page import Live
from fairbandits.service.page import routes as page
from fairbandits.service.page.traffic import Traffic

#: Where a worker process finds its configuration; without it, the demo's.
CONFIG_VARIABLE = "FAIRBANDITS_CONFIG"
#: Where it finds that simulated students are to come.
DEMO_VARIABLE = "FAIRBANDITS_DEMO"


def create_app(config: Config, demo: bool = False) -> FastAPI:
    """Make the application: ASGI, to be run by uvicorn or any other server.

    Parameters
    ----------
    config : Config
        What it is told.
    demo : bool
        Whether simulated students come; the configuration is the demo's then.
    """
    engine = Engine(config)
    live = Live(engine)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await engine.start()
        live.end_with_process()
        sending = asyncio.create_task(Traffic(engine).run()) if demo else None
        try:
            yield
        finally:
            if sending is not None:
                sending.cancel()
            await engine.stop()

    schemas, metrics = Schemas(config), Metrics(engine)
    app = FastAPI(title=config.title, version=__version__, lifespan=lifespan, redoc_url=None)
    app.state.engine = engine
    for router in (
        decisions.routes(engine, schemas),
        rewards.routes(engine, schemas),
        arms.routes(engine, schemas),
        operations.routes(engine, metrics, live),
        page.routes(live),
    ):
        app.include_router(router)
    openapi.describe(app, schemas)
    problems.install(app)
    app.add_middleware(Timing, metrics=metrics)
    return app


def app_from_environment() -> FastAPI:
    """Make the application of the configuration that the environment names, as worker processes do."""
    path = os.environ.get(CONFIG_VARIABLE)
    return create_app(load_config(path) if path else demo_config(), DEMO_VARIABLE in os.environ)
