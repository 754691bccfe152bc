"""What is told of video and audio. The file stays as it is."""

import pytest
from corpus import H264, RECORDINGS, TEST_PICTURE, TONE, encoded_by_ffmpeg, recording
from inspecting import CONTENT, LARGE, SMALL, inspect

TYPES = {
    "mov": "video/quicktime",
    "webm": "video/webm",
    "vp9 webm": "video/webm",
    "mkv": "video/x-matroska",
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "aac": "audio/aac",
    "opus": "audio/ogg",
    "vorbis": "audio/ogg",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "opus webm": "audio/webm",
}


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_kind_of_recording_is_described(name):
    report = inspect(recording(name))
    facts = report.facts
    assert (report.status, facts["verdict"], facts["type"]) == (0, "ready", TYPES.get(name, "video/mp4"))
    assert 2.9 < facts["duration"] < 3.2
    assert CONTENT not in report.frames and "contentType" not in facts
    if facts["type"].startswith("video/"):
        assert (facts["width"], facts["height"]) == (320, 180)
        assert report.picture(SMALL).size == (256, 144) and report.picture(LARGE).size == (320, 180)
        assert "waveform" not in facts
    else:
        assert SMALL not in report.frames and "thumbnails" not in facts and "width" not in facts
        # ffmpeg's tone is an eighth of the loudest.
        assert len(facts["waveform"]) == 64 and all(25 <= peak <= 40 for peak in facts["waveform"])


def test_a_waveform_shows_where_it_is_loud():
    steps = ["-f", "lavfi", "-i", "aevalsrc='if(lt(t,2),0,0.9)*sin(2764*t)':d=4:s=48000"]
    waveform = inspect(encoded_by_ffmpeg("wav", *steps)).facts["waveform"]
    assert max(waveform[:31]) == 0 and min(waveform[33:]) > 200


def test_a_recording_whose_header_knows_no_duration_is_measured():
    """As a browser records: it cannot go back to the header."""
    live = encoded_by_ffmpeg("webm", *TONE, "-c:a", "libopus", "-live", "1")
    facts = inspect(live).facts
    assert 2.9 < facts["duration"] < 3.2 and len(facts["waveform"]) == 64


@pytest.mark.parametrize(("turn", "size"), [("90", (180, 320)), ("180", (320, 180)), ("270", (180, 320))])
def test_a_video_is_turned_as_its_track_says(turn, size, tmp_path):
    level = tmp_path / "level.mp4"
    level.write_bytes(recording("hevc mp4"))
    options = ["-c", "copy", "-metadata:s:v:0", f"rotate={turn}"]
    report = inspect(encoded_by_ffmpeg("mp4", "-i", str(level), *options))
    assert (report.facts["width"], report.facts["height"]) == size == report.picture(LARGE).size


def test_pixels_that_are_not_square_are_made_so():
    report = inspect(encoded_by_ffmpeg("mp4", *TEST_PICTURE, "-vf", "setsar=2", *H264))
    assert (report.facts["width"], report.facts["height"]) == (640, 180) == report.picture(LARGE).size


def test_the_poster_is_no_black_frame():
    fading = [*TEST_PICTURE, "-vf", "fade=in:0:50", *H264]
    poster = inspect(encoded_by_ffmpeg("mp4", *fading)).picture(LARGE).convert("L")
    assert poster.getextrema()[1] > 16


def test_a_video_that_is_black_throughout_has_a_poster():
    black = ["-f", "lavfi", "-i", "color=black:size=64x64:duration=1", *H264]
    assert inspect(encoded_by_ffmpeg("mp4", *black)).picture(SMALL).size == (64, 64)


def test_the_cover_of_an_album_makes_no_video_of_it():
    cover = ["-f", "lavfi", "-i", "color=red:size=64x64:duration=0.04", "-map", "0", "-map", "1", "-frames:v", "1"]
    album = encoded_by_ffmpeg("mp3", *TONE, *cover, "-c:v", "mjpeg", "-disposition:v", "attached_pic")
    assert inspect(album).facts["type"] == "audio/mpeg"
