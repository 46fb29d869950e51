"""Expressions of admission policies and match conditions: their types, values, variables, costs and patches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from drakit_api.cel import admission, patches
from drakit_api.cel.admission import Decision, Meter, Question
from drakit_api.cel.declared import Declared
from drakit_api.cel.errors import CelCompileError, CelRuntimeError, OutOfBudget
from drakit_api.cel.values import types
from drakit_api.cel.values.types import BOOL, DYN, INT, NULL, STRING, Type

OBJECT = {"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"replicas": 3, "names": ["a", "b"]}}
VALUES: dict[str, Any] = {
    "object": OBJECT,
    "request": {"operation": "CREATE", "userInfo": {"username": "jane", "extra": {"team": ["red"]}}},
    "namespaceObject": {"metadata": {"name": "default", "labels": {"tier": "gold"}}},
    "params": {"data": {"most": "5"}},
}


class Janes:
    """Allows Jane's verb ``get`` only, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def authorize(self, question: Question) -> Decision:
        self.asked.append(question)
        return Decision(question.verb == "get", "only get", "broken" if question.verb == "break" else "")


def evaluated(expression: str, **changes: Any) -> Any:
    known = admission.environment(params=True, authorizer=True)
    program = admission.compile(expression, known)
    return program.evaluate({**VALUES, **changes}, Meter(admission.POLICY_BUDGET))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("object.spec.replicas <= int(params.data.most)", True),
        ("object.spec.names.all(name, name.size() == 1)", True),
        ("has(object.spec.paused)", False),
        ("oldObject == null", True),
        ("object.?spec.?paused.orValue(false)", False),
        ("request.userInfo.extra['team'][0]", "red"),
        ("request.operation in ['CREATE', 'UPDATE']", True),
        ("namespaceObject.metadata.labels['tier']", "gold"),
        ("'app' in object.metadata.labels", True),
        ("object.metadata.labels == {'app': 'web'}", True),
    ],
)
def test_values_are_those_of_json(expression: str, value: Any) -> None:
    assert evaluated(expression) == value


@pytest.mark.parametrize(
    ("expression", "returns", "problem"),
    [
        ("1 + 1", (BOOL,), "must evaluate to bool but got int"),
        ("object.spec.x", (STRING,), "must evaluate to string but got dyn"),
        ("1", (STRING, NULL), "must evaluate to one of [string null_type] but got int"),
        ("[]", (types.list_of(patches.JSON_PATCH),), "must evaluate to list(JSONPatch) but got list(dyn)"),
        ("authorizer.group('x')", (BOOL,), "must evaluate to bool but got kubernetes.authorization.GroupCheck"),
    ],
)
def test_the_result_is_of_a_type_that_is_wanted(expression: str, returns: tuple[Type, ...], problem: str) -> None:
    known = admission.environment(params=False, authorizer=True)
    with pytest.raises(CelCompileError) as caught:
        admission.compile(expression, known, returns=returns)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("params.x", "1:1: undeclared reference to 'params' (in container '')"),
        ("variables.x", "1:1: undeclared reference to 'variables' (in container '')"),
        ("request.zed", "1:8: undefined field 'zed'"),
        ("namespaceObject.metadata.managedFields", "1:25: undefined field 'managedFields'"),
        ("Object{}", "1:7: undeclared reference to 'Object' (in container '')"),
        ("cel.bind(x, 1, x)", "1:1: undeclared reference to 'cel' (in container '')"),
        ("[1].includes(1)", "1:13: undeclared reference to 'includes' (in container '')"),
    ],
)
def test_an_environment_has_only_its_own_names(expression: str, problem: str) -> None:
    known = admission.environment(params=False, authorizer=False, new=True)
    with pytest.raises(CelCompileError) as caught:
        admission.compile(expression, known)
    assert str(caught.value).startswith(f"compilation failed: ERROR: <input>:{problem}")


def test_the_authorizer_is_asked_for_what_was_built() -> None:
    janes = Janes()
    values = {"authorizer": admission.Authorizer(janes)}
    check = "authorizer.serviceAccount('ns', 'sa').group('apps').resource('deployments').subresource('scale')"
    assert evaluated(f"{check}.namespace('x').name('y').fieldSelector('a=b').check('get').allowed()", **values) is True
    assert janes.asked == [
        Question(
            "get",
            group="apps",
            resource="deployments",
            subresource="scale",
            namespace="x",
            name="y",
            field_selector="a=b",
            service_account=("ns", "sa"),
        )
    ]
    assert evaluated("authorizer.path('/healthz').check('post').reason()", **values) == "only get"
    assert evaluated("authorizer.path('/healthz').check('break').error()", **values) == "broken"
    with pytest.raises(CelRuntimeError, match="path must not be empty"):
        evaluated("authorizer.path(' ').check('get').allowed()", **values)


def test_the_request_has_a_resource_check_of_its_own() -> None:
    janes = Janes()
    authorizer = admission.Authorizer(janes)
    values = {"authorizer.requestResource": admission.ResourceCheck(authorizer, "", "pods", namespace="a", name="b")}
    assert evaluated("authorizer.requestResource.check('get').allowed()", **values) is True
    assert janes.asked == [Question("get", resource="pods", namespace="a", name="b")]


def compose(expressions: dict[str, str]) -> dict[str, admission.Program | CelCompileError]:
    compiled: dict[str, admission.Program | CelCompileError] = {}
    known: dict[str, Type] = {}
    for name, expression in expressions.items():
        environment = admission.environment(params=False, authorizer=True, variables=dict(known))
        try:
            compiled[name] = program = admission.compile(expression, environment)
            known[name] = admission.variable_type(program.result)
        except CelCompileError as error:
            compiled[name] = error
            known[name] = DYN
    environment = admission.environment(params=False, authorizer=True, variables=known)
    compiled[""] = admission.compile(expressions[""], environment) if "" in expressions else CelCompileError()
    return compiled


def test_variables_are_evaluated_when_they_are_used_and_once() -> None:
    janes = Janes()
    programs = compose(
        {
            "allowed": "authorizer.path('/a').check('get').allowed()",
            "unused": "authorizer.path('/b').check('get').allowed()",
            "both": "variables.allowed && variables.allowed",
            "": "variables.both && variables.allowed",
        }
    )
    meter = Meter(admission.POLICY_BUDGET)
    values = admission.with_variables({**VALUES, "authorizer": admission.Authorizer(janes)}, programs, meter)
    program = programs[""]
    assert isinstance(program, admission.Program)
    assert program.evaluate(values, meter) is True
    assert [question.path for question in janes.asked] == ["/a"]
    assert 350_000 < admission.POLICY_BUDGET - meter.left < 350_100


@pytest.mark.parametrize(
    ("variable", "problem"),
    [
        ("object.zed", 'composited variable "v" fails to evaluate: no such key: zed'),
        ("zed", 'composited variable "v" fails to compile: compilation failed: ERROR: <input>:1:1: undeclared'),
    ],
)
def test_a_variable_without_a_value_says_why(variable: str, problem: str) -> None:
    programs = compose({"v": variable, "": "variables.v == 1"})
    meter = Meter(admission.POLICY_BUDGET)
    program = programs[""]
    assert isinstance(program, admission.Program)
    with pytest.raises(CelRuntimeError) as caught:
        program.evaluate(admission.with_variables(VALUES, programs, meter), meter)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (INT, INT),
        (types.list_of(STRING), types.list_of(STRING)),
        (types.map_of(STRING, types.struct("x")), types.map_of(STRING, DYN)),
        (types.optional_of(INT), DYN),
        (None, DYN),
    ],
)
def test_types_of_variables(found: Type | None, wanted: Type) -> None:
    assert admission.variable_type(found) == wanted


def test_what_is_left_of_a_budget_is_exact() -> None:
    """However the cost was found: counted while evaluating, or afterwards."""
    known = admission.environment(params=False, authorizer=False)
    program = admission.compile("object.spec.replicas == 3", known)
    meter = Meter(8)
    for _ in range(2):
        assert program.evaluate(VALUES, meter) is True
    with pytest.raises(OutOfBudget):
        program.evaluate(VALUES, meter)
    assert meter.left == 8 - 3 * 4


def test_one_evaluation_has_a_limit_of_its_own() -> None:
    with pytest.raises(CelRuntimeError, match="operation cancelled: actual cost limit exceeded"):
        evaluated("object.list.all(x, object.list.all(y, x <= y))", object={"list": [1] * 1000})


PATCHING = admission.environment(params=False, authorizer=False, patching=True)


def made(expression: str) -> Any:
    return admission.compile(expression, PATCHING).evaluate(VALUES, Meter(admission.POLICY_BUDGET))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("Object{spec: Object.spec{replicas: 1, list: [Object.spec.list{a: 1u}]}}",
         {"spec": {"replicas": 1, "list": [{"a": 1}]}}),
        ("Object{metadata: Object.metadata{labels: {'a': 'b'}}}", {"metadata": {"labels": {"a": "b"}}}),
        ("Object{?spec: optional.none()}", {}),
        ("Object{`a-b`: object.spec.names}", {"a-b": ["a", "b"]}),
    ],
)  # fmt: skip
def test_apply_configurations(expression: str, value: dict[str, Any]) -> None:
    assert patches.merged_object(made(expression)) == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[JSONPatch{op: 'add', path: '/a', value: Object.a{b: 1}}]", [{"op": "add", "path": "/a", "value": {"b": 1}}]),
        ("[JSONPatch{op: 'move', from: '/a', path: '/b'}]", [{"op": "move", "path": "/b", "from": "/a"}]),
        ("[JSONPatch{op: 'test', path: '/' + jsonpatch.escapeKey('a/b~c'), value: null}]",
         [{"op": "test", "path": "/a~1b~0c", "value": None}]),
    ],
)  # fmt: skip
def test_json_patches(expression: str, value: list[dict[str, Any]]) -> None:
    assert patches.operations(made(expression)) == value


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("Object{spec: Object.zed{}}", 'type mismatch: unexpected type name "Object.zed", expected "Object.spec", '),
        ("Object{spec: {1: 2}}", "map key 1 is of type int, not string"),
    ],
)
def test_apply_configurations_are_of_their_place(expression: str, problem: str) -> None:
    with pytest.raises(CelRuntimeError) as caught:
        patches.merged_object(made(expression))
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("JSONPatch{op: 1}", "1:13: expected type of field 'op' is 'string' but provided type is 'int'"),
        ("JSONPatch{pth: 'a'}", "1:14: expected type of field 'pth' is '' but provided type is 'string'"),
        ("Objekt{}", "1:7: undeclared reference to 'Objekt' (in container '')"),
        ("object{}", "1:7: 'dyn' is not a type"),
        ("int{}", "1:4: 'int' is not a message type"),
    ],
)
def test_messages_are_checked(expression: str, problem: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        admission.compile(expression, PATCHING)
    assert str(caught.value).startswith(f"compilation failed: ERROR: <input>:{problem}")


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("authorizer.zed", "1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'"),
        # A type check knows the authorizer, but not this variable.
        ("authorizer.requestResource.check('get').allowed()",
         "1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'"),
        ("quantity('1Gi').zed == 1", "1:16: unexpected failed resolution of 'kubernetes.Quantity'"),
        ("request.userInfo.zed", "1:17: undefined field 'zed'"),
        ("object.zed", "1:7: undefined field 'zed'"),
        ("object.a.b", "1:9: type 'string' does not support field selection"),
        ("ip('1.1.1.1').zed", "1:14: type 'net.IP' does not support field selection"),
        ("object == oldObject && object.a == 'x'", ""),
    ],
)  # fmt: skip
def test_a_type_check_knows_the_fields_of_objects(expression: str, problem: str) -> None:
    kind = Declared("object", types.struct("object"), fields={"a": Declared("string", STRING)})
    typed = {"object": kind, "oldObject": kind}
    known = admission.environment(params=False, authorizer=True, variables={}, typed=typed)
    found = admission.type_problems(expression, known)
    assert found.partition("\n")[0] == (f"ERROR: <input>:{problem}" if problem else "")


def _deep_in_calls(calls: int, run: Callable[[], Any]) -> Any:
    return _deep_in_calls(calls - 1, run) if calls else run()


def test_an_expression_as_deep_as_may_be_is_compiled_and_evaluated_wherever_that_is_called() -> None:
    """A server comes to a policy after a hundred calls; Python ends at a thousand."""
    known = admission.environment(params=False, authorizer=False)
    deepest = " + ".join(["1"] * 250)
    program = _deep_in_calls(200, lambda: admission.compile(f"{deepest} > 0", known))
    assert _deep_in_calls(200, lambda: program.evaluate({}, Meter(1_000_000))) is True
    with pytest.raises(CelCompileError, match="max recursion depth exceeded"):
        admission.compile(f"{deepest} + 1 > 0", known)
