"""The webhook as a pod: what is applied, that its parts agree with each other and with the program."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from drakit_allocator.cli.webhook_command import patches
from drakit_allocator.webhook import deployment
from drakit_allocator.webhook.configuration import IN_CLUSTER, PATH
from drakit_allocator.webhook.serving import HEALTH
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.resources import DEPLOYMENTS, SECRETS, SERVICES, VALIDATING_WEBHOOKS
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_kind.cli.drakit_command import main
from tests.allocator import kubeconfigs
from tests.allocator.webhook import registered_webhook


def _named(kind: str, objects: list[Object]) -> Object:
    (found,) = (each for each in objects if each["kind"] == kind)
    return found


def _made(**options: Any) -> list[Object]:
    return deployment.objects(**{"secret": None, "image": "i", "failure_policy": "Ignore", **options})


def test_the_api_server_calls_the_service_of_the_pod_and_trusts_its_certificate() -> None:
    objects = _made(failure_policy="Fail")
    service, pod = _named("Service", objects), _named("Deployment", objects)["spec"]["template"]
    (webhook,) = _named("ValidatingWebhookConfiguration", objects)["webhooks"]
    called = webhook["clientConfig"]["service"]
    assert called == {**{key: service["metadata"][key] for key in ("name", "namespace")}, "path": PATH, "port": 443}
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    (port,) = service["spec"]["ports"]
    (container,) = pod["spec"]["containers"]
    assert (port["port"], port["targetPort"]) == (called["port"], container["ports"][0]["name"])
    secret = _named("Secret", objects)
    assert webhook["clientConfig"]["caBundle"] == secret["data"]["tls.crt"]
    assert webhook["failurePolicy"] == "Fail"
    trust = ssl.create_default_context(cadata=base64.b64decode(secret["data"]["tls.crt"]).decode())
    (certificate,) = trust.get_ca_certs()
    assert ("DNS", f"{called['name']}.{called['namespace']}.svc") in certificate["subjectAltName"]


def test_the_container_runs_a_command_that_exists_without_privileges() -> None:
    (container,) = _named("Deployment", _made(image="registry.example.com/drakit:1"))["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["image"] == "registry.example.com/drakit:1"
    assert container["args"][:2] == ["webhook", "patches"]
    result = CliRunner().invoke(patches, container["args"][2:])
    assert "/certificate/tls.crt and /certificate/tls.key cannot be used" in result.output
    assert container["readinessProbe"]["httpGet"]["path"] == HEALTH
    security = container["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["readOnlyRootFilesystem"] is True
    assert security["runAsNonRoot"] is True


def test_a_certificate_that_is_there_is_kept() -> None:
    secret = _named("Secret", _made())
    assert _named("Secret", _made(secret=secret)) == secret
    assert _named("Secret", _made(secret={"data": {"tls.crt": ""}})) != secret


@pytest.mark.slow
async def test_it_is_installed_kept_and_removed(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(Server(ServerConfig()))
        api = await stack.enter_async_context(Connection(server.url, token=server.token))
        file = kubeconfigs.write(tmp_path / "kubeconfig", server.url, server.token)

        async def run(*arguments: str) -> Result:
            command = ["install", "patches", "--kubeconfig", str(file), *arguments]
            return await asyncio.to_thread(CliRunner().invoke, main, command)

        dry = await run("--webhook", "--dry-run")
        assert dry.exit_code == 0, dry.output
        assert "deployment.apps/drakit-patch-webhook created (dry run)" in dry.output
        await stack.enter_async_context(registered_webhook.called(api))
        result = await run("--webhook", "--image", "drakit:test")
        assert result.exit_code == 0, result.output
        assert "secret/drakit-patch-webhook created" in result.output
        place = deployment.NAME, deployment.NAMESPACE
        secret = await api.get(SECRETS, *place)
        made = await api.get(DEPLOYMENTS, *place)
        assert made["spec"]["template"]["spec"]["containers"][0]["image"] == "drakit:test"
        again = await run("--webhook", "--image", "drakit:test")
        assert again.exit_code == 0, again.output
        assert "created" not in again.output
        assert "configured" not in again.output
        assert (await api.get(SECRETS, *place))["data"] == secret["data"]
        gone = await run("--remove", "--yes")
        assert gone.exit_code == 0, gone.output
        for resource in (SECRETS, DEPLOYMENTS, SERVICES):
            with pytest.raises(NotFound):
                await api.get(resource, *place)
        with pytest.raises(NotFound):
            await api.get(VALIDATING_WEBHOOKS, IN_CLUSTER)


def test_it_is_printed_with_the_rest() -> None:
    result = CliRunner().invoke(main, ["install", "patches", "--webhook", "-o", "yaml"])
    kinds = [each["kind"] for each in yaml.safe_load_all(result.output)]
    assert kinds[0] == "CustomResourceDefinition"
    assert kinds[-5:] == [each["kind"] for each in _made()]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--webhook", "--remove"], "leave --webhook out"),
        (["--image", "x"], "--image is about the webhook: give --webhook, too"),
        (["--failure-policy", "Fail"], "--failure-policy is about the webhook"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(main, ["install", "patches", *arguments])
    assert result.exit_code == 2
    assert complaint in result.output
