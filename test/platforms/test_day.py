"""The simulated day at a small size; `make test-day` runs it with 2,000 authors and 50,000 posts."""
from day import simulate_day
from lib.viewtally import sanitized


def test_day_of_faults_leaves_no_wrong_count_without_a_recorded_reason(tmp_path):
    authors = 10 if sanitized() else 40
    result = simulate_day(tmp_path, authors=authors, videos=5, hours=24, seed=7)
    assert result["posts"] == authors * 25
    assert result["equal"] > 0.4 * result["posts"], result
    assert len(result["faults"]) > 10 and sum(result["faults"].values()) > authors * 10, result["faults"]
