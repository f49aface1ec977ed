"""Files are written whole or not at all."""

import os
import stat

import pytest

from kpegasos.utils.files import write_whole

posix = pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")


def test_file_stays_as_it_was_if_writing_fails(tmp_path):
    path = tmp_path / "model"
    path.write_text("earlier")

    def parts():
        yield b"beginning"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_whole(path, parts())
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


@posix
@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_replaced_file_keeps_its_link_and_mode_and_is_never_more_open(mode, tmp_path):
    path, link, plain = tmp_path / "private", tmp_path / "link", tmp_path / "plain"
    plain.write_bytes(b"")
    write_whole(path, [b"earlier"])
    assert path.stat().st_mode == plain.stat().st_mode, "as the process gives it"
    plain.unlink()
    path.chmod(mode)
    link.symlink_to(path)

    def parts():
        modes = [stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()]
        assert not any(each & ~mode for each in modes)
        yield b"later"

    write_whole(link, parts())
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "later"


@posix
def test_file_that_may_not_be_written_is_not_replaced(tmp_path):
    path = tmp_path / "protected"
    path.write_text("earlier")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="path must be that of a file that may be written"):
        write_whole(path, [b"later"])
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]
