"""The application: all routes put together, around one engine."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from fairbandits import __version__
from fairbandits.service.auth.key_cache import Ring
from fairbandits.service.auth.key_store import Keys
from fairbandits.service.config import Config
from fairbandits.service.demo import read_config
from fairbandits.service.engine import Engine
from fairbandits.service.http import arms, decisions, health, login, openapi, rewards, validation
from fairbandits.service.http.fast_routing import Express
from fairbandits.service.http.gate import Gate
from fairbandits.service.http.protocol import LIMITS
from fairbandits.service.http.schemas import Schemas
from fairbandits.service.http.timing import Timing
from fairbandits.service.metrics import Metrics
from fairbandits.service.page import Live
from fairbandits.service.page import routes as page
from fairbandits.service.page.traffic import Traffic

#: Where a worker process finds its configuration; without it, the demo's.
CONFIG_VARIABLE = "FAIRBANDITS_CONFIG"
#: Where it finds that simulated students are to come.
DEMO_VARIABLE = "FAIRBANDITS_DEMO"
_SWITCH_SECONDS = 0.0005
_GARBAGE = 50_000


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
    keys = Keys(engine.store, engine.writer.in_store)
    ring = Ring(keys.read)
    live = Live(engine)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
        await engine.start()
        await ring.refresh()
        watching = asyncio.create_task(ring.watch())
        live.end_with_process()
        sending = asyncio.create_task(Traffic(engine).run()) if demo else None
        try:
            with _tuned():
                yield {LIMITS: config.limits}
        finally:
            watching.cancel()
            if sending is not None:
                sending.cancel()
            await engine.stop()

    schemas, metrics = Schemas(config), Metrics(engine)
    app = Service(title=config.title, version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.engine = engine
    routers = (
        decisions.routes(engine, schemas),
        rewards.routes(engine, schemas),
        arms.routes(engine, schemas),
        health.routes(engine, metrics, live),
        page.routes(live),
        login.routes(ring, keys),
    )
    for router in routers:
        app.include_router(router)
    openapi.describe(app, schemas)
    validation.install(app)
    app.front = Timing(Gate(Express(app.framework, routers), ring, config.limits), metrics)
    return app


class Service(FastAPI):
    """The application, with all that stands before the framework.

    Attributes
    ----------
    front : ASGIApp
        What takes every request first; what goes on to the framework comes to `framework`.
    """

    front: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        await self.front(scope, receive, send)

    async def framework(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take what needs the framework."""
        await super().__call__(scope, receive, send)


@contextmanager
def _tuned() -> Iterator[None]:
    """Run the interpreter as a server needs it."""
    # What is there by now stays: to look through it for garbage again and again makes requests wait.
    threshold = gc.get_threshold()
    gc.collect()
    gc.freeze()
    # And what requests leave is garbage in circles only where they fail.
    gc.set_threshold(_GARBAGE)
    # The thread that writes needs the interpreter a few times a batch, each time for a moment.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
        gc.unfreeze()


def app_from_environment() -> FastAPI:
    """Make the application of the configuration that the environment names, as worker processes do."""
    return create_app(read_config(os.environ.get(CONFIG_VARIABLE)), bool(os.environ.get(DEMO_VARIABLE)))
