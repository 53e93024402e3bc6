from holdfast.host.watchdog import Pressure, count_tasks


def test_a_jump_in_the_number_of_tasks_asks_for_a_look_at_once() -> None:
    tasks = [100]
    pressure = Pressure(lambda: tasks[0])
    assert not pressure.should_look()
    tasks[0] = 400
    assert pressure.should_look()
    assert not pressure.should_look()
    tasks[0] = 300
    assert not pressure.should_look()
    tasks[0] = 460  # measured from the lowest point since
    assert pressure.should_look()


def test_tasks_of_this_machine_are_counted() -> None:
    assert count_tasks() > 0
