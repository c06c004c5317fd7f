"""Repair plans: steps whose consequence is there, with commands for the places that need them."""

from jobs.incidents.catalogue import SIGNATURES
from jobs.incidents.plan import MOST_PLACES, Place, plan

BY_NAME = {signature.name: signature for signature in SIGNATURES}


def blocked(partition: int, topic: str = "m") -> Place:
    return Place("records_blocked", 1, topic, partition, 485, 609)


def test_each_blocked_partition_has_its_command() -> None:
    steps = plan(BY_NAME["skipped_markers"], [blocked(0), blocked(2)])
    command = "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic m --partition {} "
    told = [command.format(n) + "--start-offset 485" for n in (0, 2)]
    assert steps[0]["command"] == "\n".join(told)
    assert steps[0]["reversible"] is False
    assert "TOPIC" in steps[0]["before"]


def test_a_step_without_its_consequence_is_left_out() -> None:
    whole, nothing = (plan(BY_NAME["skipped_markers"], p) for p in ([blocked(0)], []))
    assert len(whole) == len(nothing) + 1
    assert not any(step["command"] for step in nothing)


def test_a_command_about_a_topic_is_told_once_a_topic() -> None:
    lost = [Place("records_lost", None, "u", n, None, None) for n in range(3)]
    commands = [step["command"] for step in plan(BY_NAME["unclean_election"], lost)]
    assert [c for c in commands if c and "export" in c] == [
        "./spark-submit.sh export --dump COPY --out RESCUED --topic u"
    ]


def test_what_the_new_leader_waits_for_is_aborted_where_there_is_any() -> None:
    signature = BY_NAME["unclean_election"]
    steps = plan(signature, [blocked(0), Place("records_lost", 1, "u", 0, 3, 8)])
    aborts = [one for one in steps if one["command"] and " abort " in one["command"]]
    assert len(aborts) == 1 and not aborts[0]["reversible"]
    lost_alone = plan(signature, [Place("records_lost", 1, "u", 0, 3, 8)])
    assert len(lost_alone) == len(steps) - 1


def test_many_places_are_cut_and_counted() -> None:
    places = [blocked(n) for n in range(MOST_PLACES + 5)]
    lines = plan(BY_NAME["late_write"], places)[0]["command"].splitlines()
    assert len(lines) == MOST_PLACES + 1
    assert "5 more" in lines[-1]


def test_names_are_quoted_for_a_shell() -> None:
    (step, *_) = plan(BY_NAME["late_write"], [blocked(0, "a b;c")])
    assert "--topic 'a b;c' --partition 0" in step["command"]
