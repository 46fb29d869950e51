"""Which mount a path is in."""

from __future__ import annotations

from pathlib import Path

import pytest

from drakit_kind.nodes.mounts import mount_of, mounts

TEXT = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
50 27 0:50 / /home rw - overlay overlay rw,lowerdir=/a:/b
51 50 0:51 / /home rw - tmpfs tmpfs rw
52 27 0:52 /x /home/my\\040files rw shared:1 master:2 - xfs /dev/vdb rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", "ext4"), ("/homes", "ext4"), ("/home/a", "tmpfs"), ("/home/my files", "xfs"), ("/home/my files/b", "xfs")],
)
def test_a_path_is_in_the_deepest_mount_above_it_and_of_several_there_in_the_last(path: str, kind: str) -> None:
    found = mount_of(Path(path), mounts(TEXT))
    assert found is not None
    assert found.kind == kind


def test_this_machine_has_a_root() -> None:
    assert mount_of(Path("/"), mounts()) is not None
