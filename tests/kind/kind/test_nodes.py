"""Looking for files in a node while its kubelet removes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.kind.nodes import Nodes
from tests.kind.kind.fake_docker import FakeDocker

pytestmark = pytest.mark.slow

# What follows `docker exec CONTAINER` is run here, with a find that ends like this.
_EXEC = """find() { printf '1 stdout F a line\\n'; echo 'find: /var/log/pods/x: No such file' >&2; return %d; }
shift 4
eval "$1"
"""


def test_a_directory_that_goes_while_it_is_read_is_passed_over(fake: FakeDocker) -> None:
    fake.answers(_EXEC % 1)
    nodes = Nodes("story", [])
    assert nodes.pod_log("node", "pod") == "a line\n"
    assert fake.calls[0].endswith(" find /var/log/pods -path *_pod_*/*/*.log -exec cat {} ;")


def test_an_image_on_its_way_from_node_to_node_is_in_the_clusters_directory(fake: FakeDocker, tmp_path: Path) -> None:
    """With which it goes, however the test run ends; in /tmp it would stay."""
    fake.answers(f"""case "$*" in
"cp node:"*) echo image >"$3"; ls {tmp_path}/*/*.tar >>{tmp_path}/seen;;
esac""")
    Nodes("story", ["a"]).copy_image("kube-proxy", "node", ["story-worker"], scratch=tmp_path)
    (file,) = (tmp_path / "seen").read_text().split()
    assert Path(file).parent.parent == tmp_path
    assert not Path(file).parent.exists()


def test_a_log_of_several_containers_is_in_the_order_of_time(fake: FakeDocker) -> None:
    """Directories have names that say nothing of it: the last to have started shall be the last to be read of."""
    written = [
        ("2026-01-01T12:00:09.5Z", "new begins"),
        ("2026-01-01T12:00:09.51Z", "new goes on"),
        ("2026-01-01T12:00:08Z", "old begins"),
        ("2026-01-01T12:00:09.25Z", "old ends"),
    ]
    fake.answers("".join(f"echo '{time} stderr F {text}'\n" for time, text in written))
    log = Nodes("story", []).component_log("kube-scheduler")
    assert log.splitlines() == ["old begins", "old ends", "new begins", "new goes on"]


def test_a_node_that_is_gone_is_no_empty_log(fake: FakeDocker) -> None:
    fake.answers("echo 'no such container' >&2; exit 1")
    with pytest.raises(ClusterError, match="no such container"):
        Nodes("story", []).pod_log("node", "pod")
    fake.answers(_EXEC % 127)
    with pytest.raises(ClusterError, match="No such file"):
        Nodes("story", []).pod_log("node", "pod")
