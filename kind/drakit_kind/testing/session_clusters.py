"""The clusters that one test session starts, joins and stops: of which backend, where, and who is told of it."""

from __future__ import annotations

import contextlib
import shutil

import pytest

from drakit_kind.cluster import ClusterError, ClusterSpec, Report, cleaning_up_after, silent
from drakit_kind.clusters import temporary
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.kind.backend import KindCluster
from drakit_kind.local.backend import LocalCluster
from drakit_kind.testing.settings.values import backend, path, text

StartedCluster = LocalCluster | KindCluster


class SessionClusters:
    """Starts and joins clusters; those that it has started are stopped, and their files removed, when it ends."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> SessionClusters:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def start(self, spec: ClusterSpec) -> StartedCluster:
        """Start a cluster in a directory of its own; with ``--drakit-cluster kind``, in kind if it is real."""
        home = ClusterHome.temporary(guarded=self._is_kind(spec))
        self._stack.callback(temporary.remove, home.directory)
        cluster = self._in_kind(spec, home) if self._is_kind(spec) else self._here(spec, home)
        try:
            cluster.start()
        except BaseException as error:
            with contextlib.suppress(ClusterError):  # what keeps it from starting may keep it from stopping
                cluster.stop()
            with cleaning_up_after(error):
                self._keep_logs(home, error)
            raise
        self._stack.callback(cluster.stop)
        return cluster

    def _keep_logs(self, home: ClusterHome, error: BaseException) -> None:
        """Keep those of a cluster that did not start: no test reports them, and its files go with the session."""
        files = [file for file in (home.log, *home.logs.glob("*.log")) if file.is_file()]
        keep = path(self._config, "keep-logs")
        if keep is None or not files:
            return
        kept = keep / f"not-started-{home.directory.name}"
        for file in files:
            place = kept / file.relative_to(home.directory)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
        error.add_note(f"its logs are kept in {kept}")

    def join(self, home: ClusterHome) -> StartedCluster:
        """Use a cluster that another worker of this run has started, and will stop."""
        spec = home.read_spec()
        if spec is None:
            raise ClusterError(f"there is no cluster in {home.directory} any more")
        if not self._is_kind(spec):
            return LocalCluster(spec, home)
        cluster = self._in_kind(spec, home)
        self._stack.callback(cluster.leave)
        cluster.join()
        return cluster

    def _is_kind(self, spec: ClusterSpec) -> bool:
        return backend(self._config) == "kind" and bool(spec.real)

    def _here(self, spec: ClusterSpec, home: ClusterHome) -> LocalCluster:
        report = self._report("cluster") if spec.real else silent  # without real components it takes no time
        return LocalCluster(spec, home, temporary=True, report=report)

    def _in_kind(self, spec: ClusterSpec, home: ClusterHome) -> KindCluster:
        return KindCluster(
            spec,
            home,
            kind=text(self._config, "kind-bin"),
            image=text(self._config, "kind-image"),
            report=self._report("kind"),
        )

    def _report(self, what: str) -> Report:
        terminal = self._config.pluginmanager.getplugin("terminalreporter")
        capture = self._config.pluginmanager.getplugin("capturemanager")

        def report(text: str) -> None:
            with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
                terminal.write_line(f"{what}: {text}")

        return report if terminal else silent
