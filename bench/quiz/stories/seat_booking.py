"""A shop for seats lets buyers swap what they bought. Its decisions are long, and say why."""

from __future__ import annotations

from bench.quiz.story import (
    Checklist,
    Commit,
    Point,
    Prove,
    Rename,
    Replace,
    Story,
    WorkSession,
    Write,
    accept,
    ask_for_bundle,
    claim,
    end,
    fact,
    fail,
    leave_note,
    reject,
    remember,
    reply,
    request,
    save,
    set_context,
    start,
    update_state,
)

SEATMAP = '''"""Which seats lie together."""


def find_together(row, count):
    free = [seat for seat in row if seat["state"] == "free"]
    for start in range(len(free) - count + 1):
        block = free[start : start + count]
        if block[-1]["number"] - block[0]["number"] == count - 1:
            return block
    return []


def leaves_single(row, block):
    taken = {seat["number"] for seat in block}
    free = {seat["number"] for seat in row if seat["state"] == "free"} - taken
    return any(number - 1 not in free and number + 1 not in free for number in free)
'''
HOLDS = '''"""Seats that are set aside while somebody pays."""

HOLD_SECONDS = 8 * 60
LARGEST_HOLD = 10


def hold_seats(table, buyer, seats, now):
    if len(seats) > LARGEST_HOLD:
        raise ValueError("too many seats")
    for seat in sorted(seats):
        if table.get(seat, {}).get("until", 0) > now:
            return False
    for seat in sorted(seats):
        table[seat] = {"buyer": buyer, "until": now + HOLD_SECONDS}
    return True


def release_expired(table, now):
    gone = [seat for seat, hold in table.items() if hold["until"] <= now]
    for seat in gone:
        del table[seat]
    return gone
'''
PRICING = '''"""What a basket costs, in cents."""

FEE_CENTS = 180
FREE_OF_FEES = ("wheelchair", "companion")


def total_cents(basket):
    total = 0
    for seat in basket:
        total += seat["cents"]
        if seat["kind"] not in FREE_OF_FEES:
            total += FEE_CENTS
    return total


def split_vat(cents, percent):
    net = cents * 100 // (100 + percent)
    return net, cents - net
'''
PAYMENTS = '''"""Talks to the provider of payments."""


class Payments:
    def __init__(self, provider, orders):
        self.provider = provider
        self.orders = orders

    def capture(self, order):
        key = f"order-{order['id']}"
        return self.provider.capture(order["cents"], idempotency_key=key)

    def on_webhook(self, event, now):
        if now - event["sent_at"] > 300:
            return "ignored"
        self.orders[event["order"]] = event["state"]
        return "applied"
'''
TICKETS = '''"""What is printed on a ticket."""

import hashlib
import hmac


def sign_code(secret, ticket_id):
    digest = hmac.new(secret, ticket_id.encode(), hashlib.sha256).hexdigest()
    return f"{ticket_id}.{digest[:16]}"


def is_genuine(secret, code):
    ticket_id, _, _ = code.partition(".")
    return hmac.compare_digest(code, sign_code(secret, ticket_id))
'''
ROOM = '''"""The waiting room before a sale."""

import random


def draw_order(visitors, seed):
    order = sorted(visitors)
    random.Random(seed).shuffle(order)
    return order


def admit(waiting, per_second, seconds):
    count = per_second * seconds
    return waiting[:count], waiting[count:]
'''
EXCHANGE = '''"""A buyer swaps seats for others."""


def swap(sold, order, wanted):
    for seat in order["seats"]:
        sold.pop(seat)
    for seat in wanted:
        if seat in sold:
            raise LookupError(seat)
        sold[seat] = order["id"]
    order["seats"] = list(wanted)
'''
WORKER = '''"""What runs beside the shop."""


def every_tick(run):
    run("release-expired")
    run("send-reminders")
'''
SALES = """[room]
per_second = 120
opens_minutes_before = 30

[mail]
from = "tickets@stagedoor.example"
"""
TEST_HOLDS = """import unittest

from boxoffice.holds import hold_seats


class Holds(unittest.TestCase):
    def test_a_seat_is_held_once(self):
        table = {}
        self.assertTrue(hold_seats(table, "ada", ["A1", "A2"], 0))
        self.assertFalse(hold_seats(table, "bob", ["A2", "A3"], 60))
        self.assertNotIn("A3", table)
"""
TEST_EXCHANGE = """import unittest

from boxoffice.exchange import swap


class Exchange(unittest.TestCase):
    def test_a_failed_swap_keeps_the_old_seats(self):
        sold = {"C4": "o-17", "C9": "o-20"}
        order = {"id": "o-17", "seats": ["C4"]}
        with self.assertRaises(LookupError):
            swap(sold, order, ["C9"])
        self.assertEqual(sold.get("C4"), "o-17")
"""
FILES = {
    "boxoffice/__init__.py": "",
    "boxoffice/seatmap.py": SEATMAP,
    "boxoffice/holds.py": HOLDS,
    "boxoffice/pricing.py": PRICING,
    "boxoffice/payments.py": PAYMENTS,
    "boxoffice/tickets.py": TICKETS,
    "boxoffice/room.py": ROOM,
    "boxoffice/exchange.py": EXCHANGE,
    "boxoffice/worker.py": WORKER,
    "config/sales.toml": SALES,
    "docs/exchange.md": "# Exchange of seats\n\nWho may swap what, and until when.\n",
    "docs/on-sale-day.md": "# The day of a sale\n\nWho watches which chart.\n",
    "tests/__init__.py": "",
    "tests/test_holds.py": TEST_HOLDS,
}

FIRST = WorkSession(
    "codex-mcp-client",
    (
        start("architect", "after the spring tour"),
        ask_for_bundle(),
        request(
            "On the first day of the spring tour we sold 412 seats twice, and the support desk was "
            "busy with it for a week. Look at how seats are held and paid, and propose what we "
            "change before the arena dates."
        ),
        accept(
            "Every hold is a row in Postgres, taken with SELECT FOR UPDATE SKIP LOCKED, and no "
            "cache takes part in it, because after a crash we have to be able to say from the "
            "database alone who holds which seat.",
            phase="planning",
        ),
        reject(
            "Hold the seats in Redis with a time to live, as the old shop did",
            "a failover during the rehearsal lost 90 seconds of writes, and with them every hold "
            "that was younger than that",
        ),
        accept(
            "The waiting room draws its order by lot among all those who came before the sale "
            "opens, because first come, first served only rewarded the bots, which took 61 % of "
            "the front places last time."
        ),
        reject(
            "Let buyers pick single seats on the map during the first hour of a sale",
            "the map made nine requests for each visitor, and the rehearsal fell over at 3,000 of "
            "them",
        ),
        claim(
            "I read it twice to be sure: the waiting room lets 120 visitors per second into the "
            "shop, unless the event itself says otherwise",
            "config/sales.toml:2",
        ),
        claim(
            "When a row has no block of that length, find_together() answers with an empty list; "
            "it never returns seats that lie apart from each other",
            "boxoffice/seatmap.py#find_together",
        ),
        claim(
            "As far as fees are concerned, total_cents() leaves out the booking fee for wheelchair "
            "and companion seats, and charges it for all the rest",
            "boxoffice/pricing.py#total_cents",
        ),
        claim(
            "split_vat() rounds the net amount down and gives the remainder to the tax, so that "
            "the two parts always add up to the price that was paid",
            "boxoffice/pricing.py#split_vat",
        ),
        remember(
            "The arena in Lyon sells its upper ring itself: we must never offer blocks 400 to 418 "
            "there, since the contract puts a fine of 25,000 euros on each breach.",
            "constraint",
        ),
        leave_note(
            "The proposal was accepted with small changes. I have written no code in this session."
        ),
        end(),
    ),
)

SECOND = WorkSession(
    "opencode",
    (
        start("developer", "holding and paying"),
        ask_for_bundle(),
        request(
            "Go through holds and payments with the proposal in hand. Wherever money is involved I "
            "want to know that nothing can happen twice."
        ),
        accept(
            "Money is authorised at the moment the seats are held, and captured only after the "
            "tickets were issued, because giving back a captured payment costs us 0.35 euros each "
            "time while an authorisation simply lapses."
        ),
        accept(
            "All prices stay in whole cents of the organiser's own currency and are never "
            "converted on our side, because the differences from rounding had kept the accountants "
            "busy for two days of every month."
        ),
        accept(
            "Groups of more than 10 seats go through a form, which a person at the box office "
            "answers within one working day, because no algorithm for neighbouring seats can know "
            "which school classes get along with each other."
        ),
        claim(
            "From what the code says, a hold lapses by itself after 8 minutes if nothing was paid "
            "for it until then",
            "boxoffice/holds.py:3",
        ),
        claim(
            "hold_seats() is all or nothing: either the buyer gets every seat on the list, or the "
            "table stays exactly as it was",
            "boxoffice/holds.py#hold_seats",
        ),
        claim(
            "release_expired() hands back the list of seats that it has freed, which is what the "
            "caller needs in order to offer them to others",
            "boxoffice/holds.py#release_expired",
        ),
        claim(
            "capture() uses the id of the order as its idempotency key, so a call that is repeated "
            "after a timeout does not charge the card again",
            "boxoffice/payments.py#Payments.capture",
        ),
        claim(
            "Late events do no harm, because on_webhook() ignores whatever was sent more than "
            "5 minutes ago",
            "boxoffice/payments.py#Payments.on_webhook",
        ),
        claim(
            "is_genuine() compares codes in constant time, hence a scanner at the gate gives away "
            "nothing about the secret",
            "boxoffice/tickets.py#is_genuine",
        ),
        Prove("holds", "python3 -m unittest -q tests.test_holds"),
        claim("I ran the tests of the holds again, and every one of them passes", "proof:holds"),
        remember(
            "Wheelchair places may be released to the general public no sooner than 24 hours "
            "before the doors open. The accessibility law demands it, whatever an organiser says.",
            "constraint",
        ),
        Point(("docs/exchange.md", "docs/on-sale-day.md")),
        leave_note("Holds and payments were reviewed; what comes after them is the exchange."),
        end(),
    ),
)

THIRD = WorkSession(
    "gemini-cli-mcp-client",
    (
        start("developer", "exchange of seats"),
        ask_for_bundle(),
        request(
            "Buyers should be able to swap their seats for others without calling us. Begin with "
            "the rules, then write the tests, and show me the first one that fails."
        ),
        accept(
            "An exchange is possible until 6 hours before the doors open, and only within the same "
            "price category or upwards, because a partial refund would need a second signature "
            "from the organiser every single time."
        ),
        accept(
            "Codes in the app rotate every 30 seconds while printed ones stay as they are, because "
            "resellers passed screenshots around and the gates turned away some 200 people who had "
            "honestly paid for their evening."
        ),
        reject(
            "Overbook the standing areas by two percent, as airlines do",
            "the fire brigade counts heads at the door, and the permit ends at the printed "
            "capacity",
        ),
        reply(
            "The rules are recorded. I now write a test in which the wanted seat is already taken, "
            "since that is the case where a buyer could end up with nothing."
        ),
        Commit("Record the rules of the exchange"),
        save(
            "We are building the exchange of seats, so that buyers who cannot come with the whole "
            "family help themselves. The worker (boxoffice/worker.py) sends reminders on the day "
            "before the event, and we leave that alone. How seats are held and paid was settled in "
            "the session before this one. Season tickets are not part of it, and neither are "
            "vouchers. Next: rehearse one exchange with the staff of the Lyon box office before "
            "the switch is thrown for everybody."
        ),
        Write("tests/test_exchange.py", TEST_EXCHANGE),
        Prove("exchange", "python3 -m unittest -q tests.test_exchange", exit_code=1),
        fail(
            "tests.test_exchange",
            "swap() has already given up C4 when it finds out that C9 is taken",
            "check all the wanted seats before swap() gives up the old ones",
        ),
        Checklist(
            (
                "check all the wanted seats before swap() gives up the old ones",
                "put the price difference into the confirmation mail",
            )
        ),
        request(
            "Please keep the exchange free of charge for members, and take 4.50 euros per order "
            "from everybody else. It has to be live before the winter gala goes on sale."
        ),
        set_context("files", "docs/exchange.md", "boxoffice/exchange.py"),
        update_state(
            current_task="an exchange that fails must leave the buyer with the old seats",
            files_in_progress=["boxoffice/exchange.py", "tests/test_exchange.py"],
            blockers=[
                "the provider's sandbox refuses partial captures until PSP-2291 is answered",
                "Marit has to sign the new terms for exchanges and is away until the 14th",
            ],
            handoff_context=(
                "The load test stalls at 2,350 buyers per minute, always in the step that writes "
                "the order; I did not get further with it."
            ),
            spec_file="docs/exchange.md",
        ),
        leave_note(
            "I leave with one red test, which shows the problem well. The repair itself has not "
            "been started."
        ),
    ),
)

EDITS = (
    Replace("boxoffice/holds.py", "HOLD_SECONDS = 8 * 60", "HOLD_SECONDS = 3 * 60"),
    Replace(
        "boxoffice/holds.py",
        "            return False\n    for seat in sorted(seats):\n",
        "            continue\n",
    ),
    Replace(
        "boxoffice/pricing.py",
        '        total += seat["cents"]\n'
        '        if seat["kind"] not in FREE_OF_FEES:\n'
        "            total += FEE_CENTS\n",
        '        total += seat["cents"] + FEE_CENTS\n',
    ),
    Replace("boxoffice/payments.py", "order-{order['id']}", "try-{order['tries']}-{id(order)}"),
    Replace(
        "boxoffice/payments.py",
        '        if now - event["sent_at"] > 300:\n            return "ignored"\n',
        "",
    ),
    Replace("config/sales.toml", "per_second = 120", "per_second = 45"),
    Rename("boxoffice/worker.py", "boxoffice/jobs.py"),
    Replace("boxoffice/jobs.py", '    run("send-reminders")\n', ""),
)

STORY = Story(
    name="seat booking",
    branch="feat/exchange",
    next_branch="feat/exchange-mails",
    question="which blocks may we not sell in the Lyon arena",
    files=FILES,
    sessions=(FIRST, SECOND, THIRD),
    edits=EDITS,
    facts=(
        fact("next: check first", r"wanted seats", r"before swap\(\) gives up"),
        fact("next: mail", r"price difference", r"confirmation mail"),
        fact("next of the summary", r"rehearse", r"Lyon box office"),
        fact("blocked: sandbox", r"partial captures", r"PSP-2291"),
        fact("blocked: terms", r"Marit", r"terms for exchanges", r"the 14th"),
        fact("last request: charge", r"free of charge for members", r"4\.50 euros"),
        fact("handed over: load", r"load test", r"2,350 buyers"),
        fact("failing command", r"unittest -q tests\.test_exchange"),
        fact("holds in the database", r"Postgres", r"SKIP LOCKED"),
        fact("order of the room", r"waiting room", r"by lot"),
        fact("when money moves", r"authorised", r"captured only after"),
        fact("currency", r"whole cents", r"never\s+converted"),
        fact("groups", r"more than 10 seats", r"through a form"),
        fact("until when", r"6 hours before the doors", r"same\s+price category"),
        fact("codes", r"rotate every 30 seconds", r"printed"),
        fact("rejected: Redis", r"Redis", r"90 seconds of writes"),
        fact("rejected: map", r"single seats on the map", r"first hour"),
        fact("rejected: overbooking", r"overbook", r"fire brigade"),
        fact("holds: together", r"find_together\(\)", r"empty list"),
        fact("holds: tax", r"split_vat\(\)", r"rounds the net amount down"),
        fact("holds: released", r"release_expired\(\)", r"list of seats"),
        fact("holds: codes", r"is_genuine\(\)", r"constant time"),
        fact("rule: Lyon", r"Lyon", r"blocks 400 to 418"),
        fact("rule: wheelchair places", r"wheelchair places", r"24 hours"),
    ),
    falsified=(
        fact("hold lapses", r"hold lapses", r"8 minutes"),
        fact("all or nothing", r"hold_seats\(\)", r"all or nothing"),
        fact("no fee", r"total_cents\(\)", r"leaves out the booking fee"),
        fact("key", r"id of the order", r"idempotency key"),
        fact("late events", r"on_webhook\(\)", r"more than\s+5 minutes ago"),
        fact("admission", r"120 visitors per second"),
        fact("tests of the holds", r"tests of the holds", r"every one of them passes"),
        fact("summary: reminders", r"sends reminders", r"day\s+before the event"),
    ),
)
