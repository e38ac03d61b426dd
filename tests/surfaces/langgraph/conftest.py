from pathlib import Path

import pytest

from tests.workstreams.repos import Repo, with_code


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")
