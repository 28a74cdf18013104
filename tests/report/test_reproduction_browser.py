"""Code is copied from a page on disk, by mouse and by keyboard."""

from __future__ import annotations

from typing import Any

import pytest

from . import sample

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def copied(reader: Any) -> str:
    """What is pasted after a click: into a field of the page, as no other is at hand."""
    reader.page.evaluate(
        "() => { const field = document.createElement('textarea'); field.id = 'pasted'; document.body.append(field); }"
    )
    reader.page.locator("#pasted").focus()
    reader.page.keyboard.press("Control+V")
    return str(reader.page.locator("#pasted").input_value())


@pytest.mark.parametrize("name", ["command", "python"])
def test_a_button_copies_the_whole_code(read: Any, name: str) -> None:
    reader = read("wine")
    button = reader.page.locator(f'[data-copy="reproduction-{name}"]')
    button.click()
    reader.page.wait_for_function("(b) => b.textContent === 'Copied'", arg=button.element_handle())
    assert copied(reader) == sample.wine()["reproduction"][name]


def test_where_the_clipboard_is_kept_from_pages_the_code_is_selected(read: Any) -> None:
    reader = read("wine")
    reader.page.evaluate(
        "() => { Object.defineProperty(navigator, 'clipboard', { value: undefined }); document.execCommand = () => false; }"
    )
    button = reader.page.locator('[data-copy="reproduction-python"]')
    button.press("Enter")
    assert button.inner_text() == "Selected: press Ctrl+C"
    selected = reader.page.evaluate("getSelection().toString()")
    assert selected.strip() == sample.wine()["reproduction"]["python"].strip()


@pytest.mark.parametrize(("width", "scrolls"), [(800, True), (390, False)])
def test_code_is_reached_by_keyboard_and_scrolls_in_its_own_box_or_wraps(read: Any, width: int, scrolls: bool) -> None:
    reader = read("hostile", width=width)
    code = reader.page.locator("#reproduction-python")
    code.focus()
    assert reader.page.evaluate("document.activeElement.id") == "reproduction-python"
    code.evaluate("(box) => { box.textContent = 'a line of code '.repeat(20); }")
    # On a phone nothing would show that a box scrolls, so the lines are wrapped there.
    assert code.evaluate("(box) => box.scrollWidth > box.clientWidth") == scrolls
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= width


def test_names_of_markup_are_code_and_nothing_else(read: Any) -> None:
    reader = read("hostile")
    shown = reader.page.locator("#reproduction-python").inner_text()
    assert shown.strip() == sample.hostile()["reproduction"]["python"].strip()
    assert reader.page.locator("#reproduction :is(script, img, b, a)").count() == 0
