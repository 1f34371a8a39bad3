"""Writes zoneinfo-edges.json: what windows mean according to Python's zoneinfo, for comparison.

Needs the package tzdata in the release that the calendar has (longhaul windows preview names it):
    PYTHONTZPATH= python3 make-fixture.py > zoneinfo-edges.json && npx biome format --write zoneinfo-edges.json
"""

import json
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import tzdata

DAY = timedelta(days=1)

# Days on which clocks were or will be changed, or of which somebody may think so.
CHANGES = [
    ("Africa/Cairo", "2026-04-24"),
    ("Africa/Cairo", "2026-10-29"),
    ("Africa/Casablanca", "2026-02-15"),
    ("Africa/Casablanca", "2026-03-22"),
    ("America/Asuncion", "2023-10-01"),
    ("America/Asuncion", "2024-03-23"),
    ("America/Asuncion", "2026-10-04"),
    ("America/Caracas", "2016-05-01"),
    ("America/Havana", "2026-03-08"),
    ("America/Havana", "2026-11-01"),
    ("America/Havana", "2027-11-07"),
    ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"),
    ("America/Nuuk", "2026-03-28"),
    ("America/Nuuk", "2026-10-24"),
    ("America/Santiago", "2026-04-04"),
    ("America/Santiago", "2026-09-06"),
    ("America/St_Johns", "2006-10-29"),
    ("America/Vancouver", "2026-03-08"),
    ("America/Vancouver", "2026-11-01"),
    ("Antarctica/Casey", "2018-03-11"),
    ("Antarctica/Troll", "2026-03-29"),
    ("Antarctica/Troll", "2026-10-25"),
    ("Asia/Beirut", "2026-03-29"),
    ("Asia/Beirut", "2026-10-24"),
    ("Asia/Gaza", "2026-03-28"),
    ("Asia/Kathmandu", "2026-03-29"),
    ("Asia/Pyongyang", "2018-05-04"),
    ("Asia/Tehran", "2022-03-22"),
    ("Atlantic/Azores", "2026-03-29"),
    ("Atlantic/Azores", "2026-10-25"),
    ("Australia/Lord_Howe", "2026-04-05"),
    ("Australia/Lord_Howe", "2026-10-04"),
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("Europe/Dublin", "2026-10-25"),
    ("Pacific/Apia", "2011-12-30"),
    ("Pacific/Chatham", "2026-04-05"),
    ("Pacific/Fakaofo", "2011-12-30"),
    ("Pacific/Kwajalein", "1993-08-21"),
]

# Each of them with the night, and with one of these in turn.
NIGHT = ("22:00", "06:00")
SHAPES = [("00:00", "06:00"), ("23:30", "24:00"), ("01:30", "02:00"), ("02:15", "03:15"), ("00:00", "24:00")]


def instants(zone, wall):
    """The first and the last instant of a wall clock time, in seconds; of one that is skipped, the end of the gap."""
    earlier = zone.utcoffset(wall.replace(fold=0)).total_seconds()
    later = zone.utcoffset(wall.replace(fold=1)).total_seconds()
    seconds = wall.replace(tzinfo=timezone.utc).timestamp()
    if earlier >= later:
        return seconds - earlier, seconds - later
    before, after = seconds - later, seconds - earlier
    while after - before > 1:
        middle = (before + after) // 2
        if offset_at(zone, middle) == earlier:
            before = middle
        else:
            after = middle
    return after, after


def offset_at(zone, seconds):
    return datetime.fromtimestamp(seconds, zone).utcoffset().total_seconds()


def minutes(text):
    return int(text[:2]) * 60 + int(text[3:])


def pauses(zone, first, last, start, end):
    merged = []
    day = first
    while day <= last:
        midnight = datetime(day.year, day.month, day.day)
        day += DAY
        if instants(zone, midnight)[0] >= instants(zone, midnight + DAY)[1]:
            continue
        length = minutes(end) - minutes(start)
        opens = midnight + timedelta(minutes=minutes(start))
        closes = opens + timedelta(minutes=length if length > 0 else length + 1440)
        begin, finish = instants(zone, opens)[0], instants(zone, closes)[1]
        if begin >= finish:
            continue
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], finish)
        else:
            merged.append([begin, finish])
    return [f"{utc(begin)}..{utc(finish)}" for begin, finish in merged]


def utc(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%MZ")


def cases():
    for index, (name, changed) in enumerate(CHANGES):
        first, last = date.fromisoformat(changed) - DAY, date.fromisoformat(changed) + DAY
        for start, end in (NIGHT, SHAPES[index % len(SHAPES)]):
            window = {"days": f"{first}..{last}", "from": start, "to": end, "timezone": name}
            yield {"window": window, "pauses": pauses(ZoneInfo(name), first, last, start, end)}


print(json.dumps({"release": tzdata.IANA_VERSION, "cases": list(cases())}, indent=2))
