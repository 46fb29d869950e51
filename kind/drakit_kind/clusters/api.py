"""The Kubernetes API as a test writes it: blocking calls, plain objects, waits that explain themselves.

Stories read best without ``await``; the connection below them is the one that all components use, on an event loop in a
thread of its own. It needs nothing but a kubeconfig, so it serves every backend.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import warnings
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import yaml

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import UNREACHABLE, ApiError, Expired, NotFound
from drakit_client.reflector import Reflector
from drakit_client.resources import BY_KIND, EVENTS, PODS, Resource

T = TypeVar("T")
Condition = Callable[[Object], bool]

ALL_NAMESPACES = "*"
_CALL_SECONDS = 60.0
_LOG_SECONDS = 10.0
_LEAST_SECONDS = 0.1
_PAUSE = 0.1


class WaitTimeout(AssertionError):
    """A condition did not come true in time; the message has the object's state and its last events."""


class IdleObjectWarning(UserWarning):
    """An object was written that nothing in the cluster acts on, so that it proves nothing; the text says why."""


def _exists(seen: Object) -> bool:
    return True


class Api:
    """Blocking access to one cluster. ``namespace`` is where namespaced objects go that do not name their own.

    ``patience`` multiplies the bounds of all waits: containers take longer to start than simulated ones.
    """

    def __init__(self, kubeconfig: Path, namespace: str = "default", *, patience: float = 1.0) -> None:
        self.namespace = namespace
        self._patience = patience
        self._kubeconfig = kubeconfig
        # Texts of Warning headers that were not reported yet.
        self._warned: deque[str] = deque()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="drakit-api", daemon=True)
        self._thread.start()
        try:
            self._connection = self._run(Connection.from_kubeconfig(kubeconfig, user_agent="drakit-api"))
            self._connection.on_warning = self._warned.append
        except BaseException:
            self._end_thread()
            raise

    def close(self) -> None:
        """Close the connection and end the thread."""
        self._run(self._connection.close())
        self._end_thread()

    def _end_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _run(self, coroutine: Coroutine[Any, Any, T], timeout: float = _CALL_SECONDS) -> T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            result = future.result(timeout)
        except BaseException:
            future.cancel()  # whoever is interrupted closes the loop next
            raise
        self._warn()
        return result

    def _warn(self) -> None:
        """Warn the caller of what drakit's API server says of objects that nothing acts on."""
        while self._warned:
            text = self._warned.popleft()
            if text.startswith("drakit: "):
                warnings.warn(text, IdleObjectWarning, stacklevel=4)

    def _in(self, resource: Resource, namespace: str | None) -> str | None:
        if namespace == ALL_NAMESPACES or not resource.namespaced:
            return None
        return namespace or self.namespace

    def create(self, *objects: Object, resource: Resource | None = None) -> Object:
        """Create objects in order; returns the last one as stored. ``resource`` is for kinds that drakit does not use.

        A kind that drakit uses is created as v1, whatever version an object names.
        """
        stored: Object = {}
        for obj in objects:
            target = resource or BY_KIND[obj["kind"]]
            namespace = self._in(target, obj["metadata"].get("namespace"))
            stored = self._run(self._connection.create(target, obj, namespace))
        return stored

    def apply(self, *objects: Object, resources: Mapping[str, Resource] = BY_KIND) -> None:
        """Create objects in order, or change those that are there (server-side apply). ``resources``: by their kind."""
        for obj in objects:
            resource, name = resources[obj["kind"]], obj["metadata"]["name"]
            params = {"fieldManager": "drakit", "force": "true"}
            self.patch(resource, name, obj, obj["metadata"].get("namespace"), patch_type="apply", params=params)

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        """Read one object; ``NotFound`` if there is none."""
        return self._run(self._connection.get(resource, name, self._in(resource, namespace)))

    def find(self, resource: Resource, name: str, namespace: str | None = None) -> Object | None:
        """Read one object, or None."""
        try:
            return self.get(resource, name, namespace)
        except NotFound:
            return None

    def objects(
        self, resource: Resource, namespace: str | None = None, *, label_selector: str = "", field_selector: str = ""
    ) -> list[Object]:
        """List the objects of a collection, of this namespace or of ``ALL_NAMESPACES``."""
        listed = self._run(
            self._connection.list(
                resource,
                self._in(resource, namespace),
                label_selector=label_selector,
                field_selector=field_selector,
            )
        )
        items: list[Object] = listed["items"] or []
        return items

    def replace(self, obj: Object, *, subresource: str | None = None) -> Object:
        """PUT an object that was read before."""
        resource = BY_KIND[obj["kind"]]
        namespace = self._in(resource, obj["metadata"].get("namespace"))
        return self._run(self._connection.replace(resource, obj, namespace, subresource=subresource))

    def patch(self, resource: Resource, name: str, body: Any, namespace: str | None = None, **options: Any) -> Object:
        """Patch an object, by default with a merge patch; return it as stored. See ``Connection.patch``."""
        return self._run(self._connection.patch(resource, name, body, self._in(resource, namespace), **options))

    def delete(self, resource: Resource, name: str, namespace: str | None = None, **options: Any) -> None:
        """Ask for deletion; fine if the object is gone already."""
        with suppress(NotFound):
            self._run(self._connection.delete(resource, name, self._in(resource, namespace), **options))

    def version(self) -> str:
        """Ask for the minor version that the API server behaves like, e.g. "1.36"."""
        told = json.loads(self._run(self._connection.request("GET", "/version")))
        emulated = told.get("emulationMajor"), told.get("emulationMinor")
        return ".".join(emulated if all(emulated) else (told["major"], told["minor"]))

    def log(self, pod: str, container: str | None = None, namespace: str | None = None) -> str:
        """Return a container's log, as ``kubectl logs`` shows it."""
        path = PODS.path(self._in(PODS, namespace), pod, "log")
        params = {"container": container} if container else None
        return self._run(self._connection.request("GET", path, params=params)).decode()

    def environment(self, pod: str, container: str | None = None, namespace: str | None = None) -> dict[str, str]:
        """Return the environment that a container prints first (``KEY=value`` lines); ``WaitTimeout`` if none comes."""
        deadline = time.monotonic() + _LOG_SECONDS * self._patience
        while True:
            # A container runs before its first command has printed anything.
            lines = self.log(pod, container, namespace).splitlines()
            if variables := dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")):
                return variables
            if time.monotonic() > deadline:
                raise WaitTimeout(f"Pod {pod} has printed no environment; its log: {lines}")
            time.sleep(_PAUSE)

    def events(self, name: str, namespace: str | None = None, *, reason: str = "") -> list[str]:
        """List the events about an object of this name, oldest first, as ``Reason: message``."""
        selector = f"involvedObject.name={name}" + (f",reason={reason}" if reason else "")
        found = self.objects(EVENTS, namespace, field_selector=selector)
        found.sort(key=lambda event: (event.get("lastTimestamp") or "", int(event["metadata"]["resourceVersion"])))
        return [_said(event) for event in found]

    def all_events(self, namespace: str | None = None) -> list[tuple[str, str]]:
        """List all events of a namespace, oldest first: the object's name and ``Reason: message``."""
        found = self.objects(EVENTS, namespace)
        found.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
        return [(event["involvedObject"].get("name", ""), _said(event)) for event in found]

    def wait(
        self,
        resource: Resource,
        name: str,
        condition: Condition = _exists,
        *,
        namespace: str | None = None,
        timeout: float = 30.0,
        what: str = "there",
    ) -> Object:
        """Watch one object until it exists and ``condition(object)`` holds, and return it.

        ``WaitTimeout`` tells what was there instead.
        """
        found = self._wait(
            resource, name, lambda seen: seen is not None and condition(seen), namespace, timeout=timeout, what=what
        )
        return found or {}

    def _wait(
        self,
        resource: Resource,
        name: str,
        condition: Callable[[Object | None], bool],
        namespace: str | None,
        *,
        timeout: float,
        what: str,
    ) -> Object | None:
        last: list[Object | None] = [None]
        timeout *= self._patience

        async def follow() -> Object | None:
            async with asyncio.timeout(timeout):
                async for current in self._states(resource, name, self._in(resource, namespace)):
                    last[0] = current
                    if condition(current):
                        return current
            raise TimeoutError

        try:
            return self._run(follow(), timeout + _CALL_SECONDS)
        except TimeoutError:
            raise WaitTimeout(self._disappointment(resource, name, namespace, what, timeout, last[0])) from None

    async def _states(self, resource: Resource, name: str, namespace: str | None) -> AsyncIterator[Object | None]:
        """Yield the object now and after every change (None: absent), for ever, even if the API server restarts."""
        selector = f"metadata.name={name}"
        while True:
            try:
                listed = await self._connection.list(resource, namespace, field_selector=selector)
                items = listed["items"] or []
                yield items[0] if items else None
                async for event in self._connection.watch(
                    resource,
                    namespace,
                    resource_version=listed["metadata"]["resourceVersion"],
                    field_selector=selector,
                ):
                    if event["type"] != "BOOKMARK":
                        yield None if event["type"] == "DELETED" else event["object"]
            except (Expired, *UNREACHABLE):
                await asyncio.sleep(0.05)
            except ApiError as error:
                if _is_final(error):
                    raise
                await asyncio.sleep(0.05)

    def _disappointment(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        what: str,
        timeout: float,
        last: Object | None,
    ) -> str:
        state = "it does not exist" if last is None else yaml.safe_dump(last.get("status", last), sort_keys=False)
        lines = [f"{resource.kind} {name} was not {what} after {timeout:.0f} s; its state:", state.rstrip()]
        if events := self._told_events(name, namespace if resource.namespaced else "default"):
            lines += ["events:", *events[-5:]]
        return "\n".join(lines)

    def _told_events(self, name: str, namespace: str | None = None) -> list[str]:
        """Read events for a message about something else: if they cannot be read, one of its lines says so."""
        from drakit_kind.clusters.cluster_logs import told

        return list(told(lambda: self.events(name, namespace)))

    def wait_all(
        self,
        resource: Resource,
        condition: Callable[[list[Object]], bool],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        timeout: float = 30.0,
        what: str = "as expected",
    ) -> list[Object]:
        """Watch a collection, or what is selected of it, until ``condition(objects)`` holds; returns the objects.

        What the API server refuses at the beginning (a kind that it does not serve, say) raises ``ApiError``.
        """
        seen: list[Object] = []
        timeout *= self._patience

        async def follow() -> list[Object]:
            changed = asyncio.Event()
            reflector = Reflector(
                self._connection,
                resource,
                namespace=self._in(resource, namespace),
                label_selector=label_selector,
                field_selector=field_selector,
            )
            reflector.on_change(lambda _old, _new: changed.set())
            async with asyncio.timeout(timeout):
                await _list_now(reflector)
                task = asyncio.create_task(reflector.run())
                try:
                    await reflector.synced()
                    while not condition(objects := list(reflector.store.values())):
                        seen[:] = objects
                        changed.clear()
                        await changed.wait()
                    return objects
                finally:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)

        try:
            return self._run(follow(), timeout + _CALL_SECONDS)
        except TimeoutError:
            names = ", ".join(obj["metadata"]["name"] for obj in seen) or "none"
            message = f"{resource.plural} were not {what} after {timeout:.0f} s; there are {len(seen)}: {names}"
            raise WaitTimeout(message) from None

    def wait_running(self, *pods: str, namespace: str | None = None, timeout: float = 30.0) -> list[Object]:
        """Wait until all these pods run, and return them."""
        left = self._countdown(timeout)
        return [
            self.wait(
                PODS,
                pod,
                lambda seen: seen.get("status", {}).get("phase") == "Running",
                namespace=namespace,
                timeout=left(),
                what="Running",
            )
            for pod in pods
        ]

    def wait_gone(
        self, resource: Resource, names: Iterable[str], *, namespace: str | None = None, timeout: float = 30.0
    ) -> None:
        """Wait until none of these objects exists."""
        left = self._countdown(timeout)
        for name in names:
            self._wait(resource, name, lambda seen: seen is None, namespace, timeout=left(), what="gone")

    def _countdown(self, timeout: float) -> Callable[[], float]:
        """Share a time-out in seconds between waits in sequence: the result returns what is left for the next one."""
        deadline = time.monotonic() + timeout * self._patience
        return lambda: max(_LEAST_SECONDS, deadline - time.monotonic()) / self._patience

    def wait_event(self, name: str, reason: str, *, containing: str = "", timeout: float = 30.0) -> str:
        """Wait for an event about an object, and return its message; ``WaitTimeout`` tells which ones there were."""

        def messages(events: list[Object]) -> list[str]:
            return [text for event in events if containing in (text := event.get("message", ""))]

        try:
            found = self.wait_all(
                EVENTS,
                lambda events: bool(messages(events)),
                field_selector=f"involvedObject.name={name},reason={reason}",
                timeout=timeout,
            )
        except WaitTimeout:
            bound, seen = timeout * self._patience, "\n".join(self._told_events(name)) or "none"
            raise WaitTimeout(
                f"no event {reason} containing {containing!r} about {name} after {bound:.0f} s; events:\n{seen}"
            ) from None
        return messages(found)[0]


async def _list_now(reflector: Reflector) -> None:
    """List for the first time: this raises an error that the reflector would meet again and again."""
    try:
        await reflector.list_now()
    except (Expired, *UNREACHABLE):
        return
    except ApiError as error:
        if _is_final(error):
            raise


def _is_final(error: ApiError) -> bool:
    """Whether a request is refused for good; 429 (Too Many Requests) also says that a server is not ready yet."""
    return error.code < 500 and error.code != HTTPStatus.TOO_MANY_REQUESTS


def _said(event: Object) -> str:
    # Both are optional in core/v1.
    return ": ".join(text for text in (event.get("reason"), event.get("message")) if text)
