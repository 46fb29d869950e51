"""The certificate of webhooks, as the tests of admission have it."""

from tests.embedded.apiserver.admission.conftest import hook_certificate as hook_certificate
