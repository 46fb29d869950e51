"""What a row of the matrix is: a cluster, the changes that are made to it phase by phase, and the story it tells."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from drakit_client.errors import ApiError
from drakit_kind.cluster import COMPONENTS, KUBERNETES_VERSION, Component
from drakit_kind.clusters.api import IdleObjectWarning
from e2e.fence import await_controllers
from e2e.matrix.stage import Stage

# Runs up to its first ``yield`` in the first phase, up to the next in the second, and ends in the last one.
Story = Callable[[Stage], Iterator[None]]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A restart of one component: with ``gates`` beside those of the row, or as another version.

    What is not said is as the row has it.
    """

    component: Component
    gates: Mapping[str, bool] = field(default_factory=dict)
    version: str | None = None

    def __str__(self) -> str:
        what = [f"{gate} {'on' if on else 'off'}" for gate, on in self.gates.items()]
        what += [self.version] if self.version else []
        return f"{self.component} {', '.join(what) or 'as at first'}"


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A time in which the cluster stays as it is, after these changes; the first phase has none."""

    name: str
    changes: Sequence[Change] = ()


# How a story shows that something is lacking: it does not come, is refused, or is said to have no effect.
_LACKING = AssertionError | ApiError | IdleObjectWarning


@dataclass(frozen=True, kw_only=True)
class NotYet:
    """What drakit's own components lack for a row; those of Kubernetes must pass.

    ``phase`` and ``message`` (a part of it) say where and how the story has to fail on ours. It may fail in no other
    way.
    """

    reason: str
    phase: str
    message: str

    def __str__(self) -> str:
        return self.reason

    def explains(self, phase: str, error: BaseException) -> bool:
        """Whether a failure in a phase is just that which has to be."""
        return isinstance(error, _LACKING) and phase == self.phase and self.message in str(error)


class StillLacking(Exception):
    """A row failed where and as its ``not_yet`` says."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the matrix.

    ``source`` says who asks for it: a KEP, a part of Kubernetes. ``containers``: where the components are Kubernetes'
    own, the kubelet has to be too; all other rows also run with the simulated one, where there is no root.
    ``own_gate``: the row switches a gate that only drakit's own components have, so there is nothing to run on those of
    Kubernetes but where ``ours`` says which components are drakit's, whatever the others are.
    """

    name: str
    feature: str
    source: str
    story: Story
    phases: Sequence[Phase]
    version: str = KUBERNETES_VERSION
    versions: Mapping[Component, str] = field(default_factory=dict)
    emulated_version: str | None = None
    gates: Mapping[str, bool] = field(default_factory=dict)
    runtime_config: Mapping[str, str] = field(default_factory=dict)
    containers: bool = False
    own_gate: bool = False
    ours: frozenset[Component] = frozenset()
    not_yet: NotYet | None = None

    def version_of(self, component: Component) -> str:
        """What a component is in the first phase."""
        return self.versions.get(component, self.version)

    def versions_of(self, component: Component) -> Sequence[str]:
        """What a component is, one after the other."""
        changes = (change for phase in self.phases for change in phase.changes if change.component == component)
        return [self.version_of(component), *(change.version for change in changes if change.version)]

    def left_out(self, real: Collection[Component], *, in_kind: bool = False) -> str:
        """Why there is nothing to run with these components of Kubernetes; or ""."""
        if self.own_gate and real and not self.ours:
            return "a gate of drakit's own components"
        if self.ours and in_kind:
            return "kind restarts Kubernetes' own components only"
        if self.containers and real and "kubelet" not in real:
            return "real kubelets run as root only"
        return ""

    @property
    def all_versions(self) -> str:
        """Of all components in all phases: ``1.37.1 emulating 1.36``, ``1.36.3 with 1.37.1``, ``1.34.3 to 1.37.1``."""
        first, *others = sorted({version for component in COMPONENTS for version in self.versions_of(component)})
        if len(others) > 1:
            return f"{first} to {others[-1]}"
        emulated = f" emulating {self.emulated_version}" if self.emulated_version else ""
        return first + "".join(f" with {other}" for other in others) + emulated


def play(row: Row, stage: Stage) -> None:
    """Tell the row's story on a cluster that was started as the row says.

    Raises ``StillLacking`` for the failure that the row expects of drakit's own components.
    """
    story = row.story(stage)
    versions = {component: row.version_of(component) for component in COMPONENTS}
    for phase in row.phases:
        try:
            _enter(phase, row, stage, versions)
            ended = _ends(story)
        except BaseException as error:
            error.add_note(f"in phase {phase.name!r} of row {row.name!r}")
            if row.not_yet and row.not_yet.explains(phase.name, error):
                raise StillLacking(str(row.not_yet)) from error
            raise
        assert ended == (phase is row.phases[-1]), f"{row.name}: the story has not as many phases as the row"


def _enter(phase: Phase, row: Row, stage: Stage, versions: dict[Component, str]) -> None:
    """Make a phase's changes, wait until the cluster has come to terms with them, and look whether all is well."""
    changed = {change.component for change in phase.changes}
    slices = stage.slices() if "kubelet" in changed else set()
    for change in phase.changes:
        stage.cluster.restart(change.component, version=change.version, gates={**row.gates, **change.gates})
        versions[change.component] = change.version or row.version_of(change.component)
    stage.check_versions(versions, emulated=row.emulated_version)
    if "apiserver" in changed:
        await_controllers(stage.api)
    if "kubelet" in changed:
        stage.await_wiping(slices)
    stage.check_survivors()


def _ends(story: Iterator[None]) -> bool:
    """Go on with a story up to its next phase; whether there is none."""
    try:
        next(story)
    except StopIteration:
        return True
    return False
