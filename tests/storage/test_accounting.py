"""The accounts: accepted = stored + spooled + rejected, and what is missing is lost."""

from holdfast.storage.accounting import Accounting


def test_nothing_is_lost_when_the_accounts_balance():
    accounts = Accounting(accepted=10, stored=7, spooled=2, rejected=1, sessions=3)

    assert accounts.lost == 0


def test_what_is_missing_is_lost():
    assert Accounting(accepted=10, stored=6, spooled=2, rejected=1, sessions=3).lost == 1


def test_the_accounts_as_data():
    assert Accounting(accepted=4, stored=1, spooled=1, rejected=1, sessions=2).to_dict() == {
        "accepted": 4,
        "stored": 1,
        "spooled": 1,
        "rejected": 1,
        "sessions": 2,
        "lost": 1,
    }
