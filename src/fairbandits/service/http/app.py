"""The application: an engine, its routes, and the gate in front of them."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from fairbandits import __version__
from fairbandits.service.auth.key_cache import KeyCache
from fairbandits.service.auth.key_store import KeyStore
from fairbandits.service.auth.user_secret import read_user_secret
from fairbandits.service.config import Config, ServerConfig
from fairbandits.service.demo import prepare_config_or_demo
from fairbandits.service.demo.traffic import DemoTraffic
from fairbandits.service.engine import Engine
from fairbandits.service.http import arms, decisions, fairness, health, login, openapi, page, rewards
from fairbandits.service.http.connections import ConnectionCounts
from fairbandits.service.http.cost import WaitingWork
from fairbandits.service.http.gate import Gate, GatedApp
from fairbandits.service.http.messages import make_pseudonymiser
from fairbandits.service.http.protocol import CONNECTIONS_STATE
from fairbandits.service.http.routing import RouteTable
from fairbandits.service.http.schemas import Schemas
from fairbandits.service.http.validation import install_error_handlers
from fairbandits.service.log_lines import configure_log_lines
from fairbandits.service.metrics import Metrics
from fairbandits.service.page.live_feed import LiveFeed

#: The environment variable that names the configuration of a worker; without it, it serves the demo.
CONFIG_VARIABLE = "FAIRBANDITS_CONFIG"
#: The environment variable that turns on the simulated students of the demo.
DEMO_VARIABLE = "FAIRBANDITS_DEMO"
_SWITCH_SECONDS = 0.0005
_GARBAGE_THRESHOLD = 50_000

#: The environment variable with the server settings as JSON; options of the command may have changed them.
SERVER_VARIABLE = "FAIRBANDITS_SERVER"
#: The environment variable that names the folder through which workers exchange their metrics.
METRICS_VARIABLE = "FAIRBANDITS_METRICS"


def create_app(config: Config, demo: bool = False, metrics_folder: Path | None = None) -> FastAPI:
    """Create the ASGI application, to be run by uvicorn or any other server.

    Parameters
    ----------
    config : Config
        The configuration.
    demo : bool
        Whether to simulate the students of the demo, in which case the configuration must be that of the demo.
    metrics_folder : path, optional
        The folder through which several workers exchange their metrics.
    """
    secret_file = config.users.secret_file
    pseudonymise = None if secret_file is None else make_pseudonymiser(read_user_secret(secret_file))
    engine = Engine(config)
    key_store = KeyStore(engine.store, engine.writer.run_in_store_thread)
    keys = KeyCache(key_store.read, save_uses=key_store.save_uses)
    feed = LiveFeed(engine)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
        await engine.start()
        await keys.refresh()
        background = [
            asyncio.create_task(keys.refresh_forever()),
            asyncio.create_task(metrics.publish_forever()),
        ]
        feed.end_with_process()
        if demo:
            background.append(asyncio.create_task(DemoTraffic(engine, pseudonymise).run()))
        try:
            with _tuned_interpreter():
                yield {CONNECTIONS_STATE: ConnectionCounts(config.limits)}
        finally:
            for task in background:
                task.cancel()
            await engine.stop()

    work = WaitingWork(config.limits.cost)
    schemas, metrics = Schemas(config, pseudonymise), Metrics(engine, metrics_folder)
    app = GatedApp(title=config.title, version=__version__, lifespan=lifespan, openapi_url=None)
    app.state.engine = engine
    routers = (
        decisions.routes(engine, schemas, work),
        rewards.routes(engine, schemas, work),
        arms.routes(engine, schemas),
        fairness.routes(feed),
        health.routes(engine, metrics, feed),
        page.routes(),
        login.routes(keys, key_store),
        openapi.routes(app),
    )
    table = RouteTable(routers)
    for router in routers:
        app.include_router(router)
    openapi.install_openapi(app, table, schemas)
    install_error_handlers(app)
    app.gate = Gate(app.framework, table, keys, config.limits, config.server, metrics)
    return app


@contextmanager
def _tuned_interpreter() -> Iterator[None]:
    """Tune the interpreter for a server."""
    # Objects that exist at this point are permanent, and scanning them for garbage would delay requests.
    threshold = gc.get_threshold()
    gc.collect()
    gc.freeze()
    # Requests create reference cycles only when they fail, so garbage collections can be rare.
    gc.set_threshold(_GARBAGE_THRESHOLD)
    # The store thread needs the interpreter lock a few times for every batch, each time only briefly.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
        gc.unfreeze()


def app_from_environment() -> FastAPI:
    """Create the application for the configuration that the environment names, as worker processes do."""
    config = prepare_config_or_demo(os.environ.get(CONFIG_VARIABLE))
    server, folder = os.environ.get(SERVER_VARIABLE), os.environ.get(METRICS_VARIABLE)
    if server:
        config = config.with_server(ServerConfig.model_validate_json(server))
    configure_log_lines(config.server.log_format)
    return create_app(config, bool(os.environ.get(DEMO_VARIABLE)), Path(folder) if folder else None)
