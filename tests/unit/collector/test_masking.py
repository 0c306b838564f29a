"""What upstream's pattern masks is masked here, and so is what it lets through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.record import TraceRecord, mask_environment

PEM = "-----BEGIN KEY-----\nMIIEabc+/\nabc=\nFOO=\n-----END KEY-----"


@pytest.mark.parametrize(
    ("environment", "masked"),
    [
        ("a=b", "a=b"),
        ("aws_key=12345", "aws_key=[secure]"),
        ("FOO=bar\nOPENAI_API_KEY=sk\n", "FOO=bar\nOPENAI_API_KEY=[secure]\n"),
        ("git_token=x", "git_token=[secure]"),
        ("api_key=x", "api_key=[secure]"),
        ("AWS_SECRET=x", "AWS_SECRET=[secure]"),
        ("GITHUB_TOKEN=a=b=c", "GITHUB_TOKEN=[secure]"),
        ("URL=http://x?token=abc&x=1", "URL=http://x?token=[secure]"),
    ],
)
def test_what_upstream_masks_is_masked(environment: str, masked: str) -> None:
    assert mask_environment(environment) == masked


@pytest.mark.parametrize(
    ("environment", "masked"),
    [
        ("MY_AWS_KEY=1", "MY_AWS_KEY=[secure]"),
        (" aws_key=1", " aws_key=[secure]"),
        ("PASSWORD=x", "PASSWORD=[secure]"),
        ("MYSQL_PWD=x", "MYSQL_PWD=[secure]"),
        ("DB_PASS=x", "DB_PASS=[secure]"),
        ("GOOGLE_CREDENTIALS=x", "GOOGLE_CREDENTIALS=[secure]"),
        ("SSH_KEY=x", "SSH_KEY=[secure]"),
        ("AUTHORIZATION=x", "AUTHORIZATION=[secure]"),
        ("export HF_TOKEN=x", "export HF_TOKEN=[secure]"),
        ("DB=postgres://me:secret@host/db", "DB=postgres://me:[secure]@host/db"),
        ("X=ghp_0123456789abcdef", "X=[secure]"),
        ("H=Bearer abc", "H=[secure]"),
        ("MULTI_TOKEN=l1\nl2\n\nl3\nFOO=1\n", "MULTI_TOKEN=[secure]\nFOO=1\n"),
        (f"CERT={PEM}\nFOO=1", "CERT=[secure]\nFOO=1"),
    ],
)
def test_what_upstream_lets_through_is_masked(environment: str, masked: str) -> None:
    assert mask_environment(environment) == masked


@pytest.mark.parametrize(
    "environment",
    [
        "FOO=mytoken\nBAR=1",
        "AWS_FOO\nBAR=baz",
        "PWD=/work\nOLDPWD=/",
        "PATH=/usr/bin",
        "AUTHOR=me",
        "PASSES=3",
        "URL=http://host:80/x",
        "",
        "\n",
    ],
)
def test_what_is_no_secret_stays(environment: str) -> None:
    assert mask_environment(environment) == environment


@given(st.text(st.characters(exclude_characters="\n"), min_size=9).filter(lambda t: t.strip()))
def test_no_line_of_a_secret_survives(secret: str) -> None:
    masked = mask_environment(f"A=1\nMY_PASSWORD=x{secret}\n{{{secret}\nB=2\n")
    assert masked == "A=1\nMY_PASSWORD=[secure]\nB=2\n"
    assert TraceRecord({"env": f"MY_PASSWORD=x{secret}"})["env"] == "MY_PASSWORD=[secure]"
