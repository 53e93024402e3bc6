"""Long: thousands of random answers of a chaotic model through the agent loop, in virtual time. Any problem: exit 1."""

import argparse
import logging
import time
from collections import Counter

from holdfast.testing import run_virtual
from holdfast.testing.chaos_session import chaos_session


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--in-session", type=int, default=100, help="answers in one conversation")
    parser.add_argument("--seed", type=int, default=1, help="of the first session; the next one has the next seed")
    choices = parser.parse_args()
    logging.disable(logging.CRITICAL)  # tools crash here on purpose
    began = time.monotonic()
    answers = calls = broken = sessions = 0
    outcomes: Counter[str] = Counter()
    while answers < choices.answers:
        seed = choices.seed + sessions
        window = 200_000 if sessions % 2 else 20_000  # half of them have to shorten their history again and again
        session = run_virtual(chaos_session(seed, requests=choices.in_session, context_window=window))
        sessions += 1
        answers += session.requests
        calls += session.calls
        outcomes += session.outcomes
        broken += len(session.problems)
        for problem in session.problems[:5]:
            print(f"seed {seed}: {problem[:400]}")
    ends = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
    print(f"{answers} answers, {calls} calls, {sessions} sessions in {time.monotonic() - began:.0f} s; runs: {ends}")
    print(f"{broken} broken promises")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
