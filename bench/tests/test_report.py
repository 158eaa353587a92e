"""What the page of a run says, on a made-up run of which everything is known."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from lab.report import write_report
from lab.store import Run
from synthetic_run import STUDIES, make_run

_PAGE_MAX = 5_000_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("report") / "synthetic")


@pytest.fixture(scope="module")
def path(run: Run) -> Path:
    found = run.directory.parent / "report.html"
    write_report(run, STUDIES, found)
    return found


@pytest.fixture(scope="module")
def text(path: Path) -> str:
    """The page as a reader reads it: without tags, pictures and style."""
    page = re.sub(r"<style>.*?</style>|<img[^>]*>", "", path.read_text(), flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def part_of(text: str, title: str) -> str:
    """From a study's title to the next study's, behind the table of contents."""
    begin = text.rindex(title)
    later = [text.find(study.title, begin + 1) for study in STUDIES]
    return text[begin:min([place for place in later if place > begin], default=len(text))]


def test_the_page_is_one_file_that_loads_nothing(path: Path) -> None:
    page = path.read_text()
    assert len(page) < _PAGE_MAX
    assert not re.search(r"(?:src|href)=['\"]?(?:https?:)?//", page)
    assert "<script" not in page
    assert set(re.findall(r'<(?:img|link)[^>]*(?:src|href)="(\w+:)', page)) == {"data:"}


def test_every_study_stands_on_the_page_with_its_texts(text: str) -> None:
    for study in STUDIES:
        for words in (study.title, study.question, study.published, study.scaling):
            assert words in text


def test_every_claim_has_a_verdict_in_words(text: str) -> None:
    for study in STUDIES:
        part = part_of(text, study.title)
        for claim in study.claims():
            assert claim.statement in part
            assert claim.published in part
    assert "not reproduced" in part_of(text, "Memory sweep of a TPC-C-like workload")


def test_a_judge_that_fails_is_shown_as_not_comparable_with_its_error(text: str) -> None:
    part = part_of(text, "Memory-constrained sysbench")
    assert "not comparable here" in part
    assert "KeyError: 'no such cell'" in part


def test_a_study_that_did_not_run_says_why_and_judges_nothing(text: str) -> None:
    part = part_of(text, "Cloud IOPS sweep")
    assert "This study did not run here" in part
    assert "What is needed: root and control groups." in part
    assert "never asked" not in part


def test_trials_with_problems_are_named_and_do_not_count(text: str, run: Run) -> None:
    part = part_of(text, "Memory sweep of a TPC-C-like workload")
    assert "2 of 36 trials had problems" in part
    assert "768 MB, InnoDB, block 2: another process took 14 % of the CPU" in part
    # The bad trial's throughput is 1: with it the lowest of the range would be 1.
    assert len(run.results("memory").values("per_second", "768 MB", "innodb")) == 2


def test_the_ratio_in_the_table_is_the_median_of_the_blocks_ratios(text: str, run: Run) -> None:
    ratio = run.results("memory").ratio("per_second", "512 MB", "basalt", "innodb")
    assert ratio is not None and ratio.blocks == 3
    part = part_of(text, "Memory sweep of a TPC-C-like workload")
    assert f"{ratio.median:.2f}" in part
    assert re.search(rf"{ratio.low:.2f}\W+{ratio.high:.2f}, 3 blocks", part)


def test_a_run_of_one_block_shows_no_range(text: str) -> None:
    part = part_of(text, "Index condition pushdown, Q19")
    assert "blocks" not in part.split("All figures")[0]


def test_differences_inside_the_noise_are_marked(path: Path) -> None:
    page = path.read_text()
    assert 'title="within noise">≈' in page
    assert 'title="better">▲' in page
    assert 'title="worse">▼' in page


def test_settings_and_identity_are_on_the_page(text: str) -> None:
    assert "--innodb-buffer-pool-size=" in text
    assert "--innodb-doublewrite=OFF" in text
    for words in ("Made-up 2000 at 2 GHz", "abc1234", "11.8.1", "812.3"):
        assert words in text


def test_every_picture_has_words_for_those_who_do_not_see_it(path: Path) -> None:
    pictures = re.findall(r"<img [^>]*>", path.read_text())
    assert len(pictures) > 10
    assert all(re.search(r'alt="[^"]{20,}"', picture) for picture in pictures)


def test_letters_in_drawings_keep_their_size(path: Path) -> None:
    """Glyphs are scaled by small factors, which rounding to hundredths would make smaller."""
    drawings = re.findall(r"data:image/svg[^\"]*", path.read_text())
    assert drawings
    scales = {float(scale) for drawing in drawings
              for scale in re.findall(r"scale\((0\.\d+)", drawing)}
    assert scales
    assert 0.01 not in scales, "1/64, the unit of the letters' outlines, has been rounded"


def test_the_data_beside_the_page_are_whole(path: Path, run: Run) -> None:
    stored = json.loads((path.parent / f"{run.name}.json").read_text())
    assert len(stored["trials"]) == sum(len(run.results(study.name).all) for study in STUDIES)
    assert f'href="{run.name}.json"' in path.read_text()


def test_a_report_can_be_written_again_over_an_old_one(path: Path, run: Run) -> None:
    before = path.read_text()
    write_report(run, STUDIES, path)
    assert path.read_text() == before
