"""A question at work can be ended from outside, whatever its work catches."""

from threading import Event

from counterpoise.cancellation import Cancelled, stop_if_cancelled
from counterpoise.web.question_thread import Precedence, QuestionThread


def run(work: object, *, is_cancelled: bool) -> list[tuple[object, BaseException | None]]:
    """What a question's thread hands back; cancelled as soon as it has begun, where that is asked for."""
    begun, over, found = Event(), Event(), []

    def begin() -> object:
        begun.set()
        return work()  # type: ignore[operator]

    def finish(value: object, error: BaseException | None) -> None:
        found.append((value, error))
        over.set()

    thread = QuestionThread(begin, finish, Precedence())
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


def test_a_proof_gives_way_to_an_edit_between_its_steps() -> None:
    """The proof goes on only when the edit has its verdict."""
    precedence = Precedence(longest_wait=60)
    order, begun, goes_on, over = [], Event(), Event(), Event()

    def prove() -> None:
        begun.set()
        goes_on.wait(5)
        stop_if_cancelled()
        order.append("proof")

    def judge() -> None:
        goes_on.set()
        order.append("verdict")

    QuestionThread(prove, lambda value, error: over.set(), precedence, rank=2)
    begun.wait(5)
    QuestionThread(judge, lambda value, error: None, precedence, rank=0)
    assert over.wait(5)
    assert order == ["verdict", "proof"]


def test_an_edit_that_hangs_or_is_called_off_holds_nobody_up() -> None:
    for longest_wait, is_cancelled in ((60.0, True), (0.01, False)):
        precedence, hangs, over = Precedence(longest_wait), Event(), Event()
        edit = QuestionThread(hangs.wait, lambda value, error: None, precedence, rank=0)
        if is_cancelled:
            edit.cancel()
        QuestionThread(stop_if_cancelled, lambda value, error, over=over: over.set(), precedence, rank=3)  # type: ignore[misc]
        assert over.wait(5)
        hangs.set()
