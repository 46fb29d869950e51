"""What the expressions of a mutating policy make of an object.

After k8s.io/apiserver/pkg/admission/plugin/policy/mutating/{compilation,plugin}.go and mutating/patch.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any, NamedTuple

from drakit_api.cel import admission as cel
from drakit_api.cel import patches
from drakit_api.cel.errors import CelCompileError, CelRuntimeError, OutOfBudget
from drakit_api.cel.values.types import list_of
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import json_patch
from drakit_embedded.apiserver.admission.policies import merges
from drakit_embedded.apiserver.admission.policies.policy import Policy
from drakit_embedded.apiserver.admission.policies.programs import EvaluationError, Expression
from drakit_embedded.apiserver.admission.policies.scenes import Scene


class MutationError(Exception):
    """A mutation that cannot be carried out."""


class Mutation(NamedTuple):
    """One mutation of a policy: an expression that makes operations, or a configuration to be merged."""

    expression: Expression
    merges: bool

    def result(self, scene: Scene, values: dict[str, Any], meter: cel.Meter, subresource: str) -> Any:
        """Compute what becomes of the object of a scene, which is not changed; a patch may make anything of it.

        Raises:
            MutationError: if it cannot be carried out.
            UnknownTypeError: if the types of the kind are not known.
        """
        assert scene.object is not None
        made = self._evaluated(values, meter)
        try:
            if self.merges:
                return merges.applied(patches.merged_object(made), scene.object, scene.kind, subresource)
            return _patched(scene.object, patches.operations(made))
        except merges.MergeError as error:
            raise MutationError(f"error applying patch: {error}") from None
        except CelRuntimeError as error:
            raise MutationError(str(error)) from None

    def _evaluated(self, values: dict[str, Any], meter: cel.Meter) -> Any:
        if isinstance(self.expression.program, CelCompileError):
            raise MutationError(str(self.expression.program))
        try:
            return self.expression.evaluate(values, meter)
        except EvaluationError as error:
            raise MutationError(str(error)) from None
        except OutOfBudget:
            raise MutationError(cel.OUT_OF_BUDGET) from None


def _patched(obj: Object, operations: list[Object]) -> Any:
    """Apply a JSON patch; if a test in it fails, nothing changes."""
    try:
        return json_patch.applied(copy.deepcopy(obj), operations)
    except json_patch.FailedTestError:
        return obj
    except json_patch.OperationError as error:
        raise MutationError(f"JSON Patch: {error}") from None


class MutatingPolicy(Policy):
    """A MutatingAdmissionPolicy."""

    def __init__(self, obj: Object) -> None:
        """Read a policy."""
        super().__init__(obj)
        self.reinvoked = self._spec.get("reinvocationPolicy") == "IfNeeded"

    @cached_property
    def mutations(self) -> list[Mutation]:
        """The mutations in their order."""
        return [self._mutation(source) for source in self._spec.get("mutations") or ()]

    def _mutation(self, source: Object) -> Mutation:
        merges_it = source.get("patchType") == "ApplyConfiguration"
        patch = source.get("applyConfiguration" if merges_it else "jsonPatch") or {}
        expression = patch.get("expression") or ""
        returns = patches.OBJECT if merges_it else list_of(patches.JSON_PATCH)
        return Mutation(self.programs.compiled(expression, returns, patching=True), merges_it)
