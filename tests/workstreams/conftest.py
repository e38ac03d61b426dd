"""What these verbs change is a file. They have no SQL of their own: the journal's is tested on both
engines beside it, and the doors call these verbs on both.
"""

import pytest


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    return sqlite_url
