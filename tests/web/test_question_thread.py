"""A question at work can be ended from outside, whatever its work catches."""

from threading import Event

from counterpoise.cancellation import Cancelled, stop_if_cancelled
from counterpoise.web.question_thread import QuestionThread


def run(work: object, *, is_cancelled: bool) -> list[tuple[object, BaseException | None]]:
    """What a question's thread hands back; cancelled as soon as it has begun, where that is asked for."""
    begun, over, found = Event(), Event(), []

    def begin() -> object:
        begun.set()
        return work()  # type: ignore[operator]

    def finish(value: object, error: BaseException | None) -> None:
        found.append((value, error))
        over.set()

    thread = QuestionThread(begin, finish)
    begun.wait(5)
    if is_cancelled:
        thread.cancel()
    assert over.wait(5)
    thread.cancel()
    return found


def work_forever() -> None:
    while True:
        try:
            stop_if_cancelled()
        except Exception:  # as careless models do
            continue


def test_work_that_never_ends_is_cancelled() -> None:
    [(value, error)] = run(work_forever, is_cancelled=True)
    assert value is None
    assert isinstance(error, Cancelled)


def test_work_that_ends_hands_back_what_it_found_or_raised() -> None:
    assert run(lambda: 7, is_cancelled=False) == [(7, None)]
    [(_, error)] = run(lambda: 1 / 0, is_cancelled=False)
    assert isinstance(error, ZeroDivisionError)
