"""The accounts: accepted = stored + spooled + rejected, and what is missing is lost."""

from holdfast.storage.accounting import Accounting


def test_nothing_is_lost_when_the_accounts_balance():
    accounts = Accounting(accepted=10, stored=7, spooled=2, rejected=1, sessions=3)

    assert accounts.lost == 0


def test_accepted_events_that_are_nowhere_are_counted_as_lost():
    assert Accounting(accepted=10, stored=6, spooled=2, rejected=1, sessions=3).lost == 1


def test_accounts_become_a_dict_with_the_lost_count():
    assert Accounting(accepted=4, stored=1, spooled=1, rejected=1, sessions=2).to_dict() == {
        "accepted": 4,
        "stored": 1,
        "spooled": 1,
        "rejected": 1,
        "sessions": 2,
        "has_older_sessions": False,
        "lost": 1,
        "at_risk": 0,
        "dropped": 0,
        "first_dropped_at": None,
        "last_dropped_at": None,
    }
