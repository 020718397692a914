"""The action, run for real: its scripts one by one, and all of it by act, against a local GitHub."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from github import GitHub

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("ROLLOUT_PROGRAM") or ROOT / "target/debug/rollout")
ACT = os.environ.get("ROLLOUT_ACT") or shutil.which("act")
EXAMPLE = ROOT / "examples/httproute-five-steps"
VERSION = "v9.9.9"


class Case(unittest.TestCase):
    """A GitHub, a temporary folder, and what a runner gives to a step."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rollout-action-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.github = GitHub()
        self.addCleanup(self.github.close)
        self.event = {"pull_request": {"number": 7, "head": {"sha": self.github.head}}}
        for name in ("temp", "tools"):
            (self.folder / name).mkdir()

    def step(self, script, **environment):
        """Runs a script of the action as a step; returns its exit status, log, and outputs."""
        output, summary, event = (self.folder / name for name in ("output", "summary", "event.json"))
        output.write_text("")
        event.write_text(json.dumps(self.event))
        runner = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_SERVER_URL": self.github.url,
            "GITHUB_REPOSITORY": "o/r",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "RUNNER_TEMP": str(self.folder / "temp"),
            "RUNNER_TOOL_CACHE": str(self.folder / "tools"),
        }
        ran = subprocess.run([ROOT / "action" / script], env=runner | environment, cwd=self.folder, capture_output=True, text=True, timeout=120)
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return ran.returncode, ran.stdout + ran.stderr, outputs


class Comment(Case):
    """action/comment.sh"""

    MARKER = '<!-- rollout:v1 {"key":"default","head":"abc","digest":"","releases":1,"previews":0} -->'

    def post(self, text="20% for the new version", marker=MARKER, news="true", **environment):
        file = self.folder / "comment.md"
        file.write_text(f"{marker}\n## Rollout\n\n{text}\n")
        given = {"INPUT_TOKEN": "secret-token", "INPUT_PULL_REQUEST": "", "INPUT_HEAD": "", "COMMENT_FILE": str(file), "HAS_NEWS": news}
        code, log, outputs = self.step("comment.sh", **(given | environment))
        self.assertEqual(code, 0, log)
        self.assertNotIn("secret-token", log)
        return log, outputs

    def test_the_first_comment_is_created_and_the_next_one_edits_it(self):
        _, outputs = self.post("one")
        self.assertEqual(outputs["comment-url"], f"{self.github.url}/comment/1")
        self.post("two", marker=self.MARKER.replace("abc", "def"))
        self.assertEqual(len(self.github.comments), 1)
        self.assertIn("two", self.github.comments[0]["body"])

    def test_the_same_again_is_not_sent(self):
        self.post()
        _, outputs = self.post()
        self.assertEqual(self.github.count("PATCH", "."), 0)
        self.assertIn("comment-url", outputs)

    def test_another_key_has_a_comment_of_its_own(self):
        self.post()
        self.post(marker=self.MARKER.replace("default", "prod"))
        self.assertEqual(len(self.github.comments), 2)

    def test_a_comment_of_somebody_else_with_our_marker_is_left_alone(self):
        self.github.comment(f"{self.MARKER}\nnot ours", login="mallory")
        self.post()
        self.assertEqual(self.github.comments[0]["body"], f"{self.MARKER}\nnot ours")
        self.assertEqual(len(self.github.comments), 2)

    def test_our_comment_is_found_on_the_third_page(self):
        for number in range(230):
            self.github.comment(f"talk {number}", login="somebody")
        self.github.comment(f"{self.MARKER}\nold")
        self.post("new")
        self.assertEqual(len(self.github.comments), 231)
        self.assertIn("new", self.github.comments[-1]["body"])

    def test_a_comment_that_a_person_edited_is_set_right(self):
        self.post()
        self.github.comments[0]["body"] = self.github.comments[0]["body"].replace("20%", "99%").replace("\n", "\r\n")
        self.post()
        self.assertIn("20%", self.github.comments[0]["body"])
        self.assertEqual(len(self.github.comments), 1)

    def test_a_comment_that_was_deleted_is_written_again(self):
        self.github.comment(f"{self.MARKER}\nold")
        self.github.fail("PATCH", "/issues/comments/", 404)
        self.post("new")
        self.assertIn("new", self.github.comments[-1]["body"])

    def test_nothing_to_release_is_said_only_where_a_comment_says_otherwise(self):
        self.post("No rollout changes", news="false")
        self.assertEqual(self.github.comments, [])
        self.post()
        self.post("No rollout changes", news="false")
        self.assertIn("No rollout changes", self.github.comments[0]["body"])

    def test_a_read_only_token_is_a_notice(self):
        self.github.fail("POST", "/issues/7/comments", 403, message="Resource not accessible by integration")
        log, outputs = self.post()
        self.assertIn("::notice", log)
        self.assertNotIn("comment-url", outputs)

    def test_a_server_that_stumbles_is_asked_again(self):
        self.github.fail("GET", "/comments", 502, times=2)
        self.github.fail("POST", "/issues/7/comments", 429, headers={"Retry-After": "1"})
        self.post()
        self.assertEqual(len(self.github.comments), 1)

    def test_a_rate_limit_that_is_called_forbidden_is_waited_for(self):
        self.github.fail("GET", "/comments", 403, headers={"Retry-After": "1"})
        self.post()
        self.assertEqual(len(self.github.comments), 1)

    def test_a_pull_request_that_is_not_there_is_a_warning(self):
        self.github.fail("GET", "/pulls/7", 404, times=None, message="Not Found%0A::error::boo")
        log, _ = self.post()
        self.assertIn("::warning", log)
        self.assertNotIn("\n::error", log)

    def test_a_pull_request_that_moved_on_gets_no_old_comment(self):
        self.github.head = "b" * 40
        log, _ = self.post()
        self.assertIn("moved on", log)
        self.assertEqual(self.github.comments, [])

    def test_a_push_without_a_pull_request_has_no_comment(self):
        self.event = {"ref": "refs/heads/main"}
        log, _ = self.post()
        self.assertIn("::notice", log)
        self.assertEqual(self.github.calls, [])

    def test_a_file_that_is_no_comment_of_ours_is_never_posted(self):
        self.post(marker="<!-- rollout:v1 -->")
        self.post(marker="@everyone")
        self.assertEqual(self.github.comments, [])

    def test_a_comment_rendered_by_another_job_is_posted_by_number(self):
        self.event = {"workflow_run": {"id": 1}}
        self.post(INPUT_PULL_REQUEST="7", INPUT_HEAD=self.github.head)
        self.assertEqual(len(self.github.comments), 1)


class Program(Case):
    """action/program.sh"""

    def find(self, **environment):
        given = {"INPUT_BINARY": "", "INPUT_VERSION": "", "INPUT_CHECKSUM": "", "ACTION_REF": "", "ACTION_REPOSITORY": "o/rollout"}
        return self.step("program.sh", **(given | environment))

    def release(self, program=b"#!/bin/sh\necho rollout 9.9.9\n"):
        """Serves a release; returns the digest of its archive."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            info = tarfile.TarInfo("rollout")
            info.size, info.mode = len(program), 0o755
            tar.addfile(info, io.BytesIO(program))
        machine = {"x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}[os.uname().machine]
        system = "unknown-linux-gnu" if os.uname().sysname == "Linux" else "apple-darwin"
        name = f"rollout-{VERSION}-{machine}-{system}.tar.gz"
        self.github.assets[f"/o/rollout/releases/download/{VERSION}/{name}"] = archive.getvalue()
        return hashlib.sha256(archive.getvalue()).hexdigest()

    def test_a_named_program_is_used(self):
        code, log, outputs = self.find(INPUT_BINARY=str(PROGRAM))
        self.assertEqual((code, outputs.get("path")), (0, str(PROGRAM)), log)

    def test_a_program_that_does_not_run_is_told(self):
        code, log, _ = self.find(INPUT_BINARY="/nowhere/rollout")
        self.assertEqual(code, 2)
        self.assertIn("::error", log)

    def test_a_release_is_downloaded_once_and_then_cached(self):
        digest = self.release()
        for _ in range(2):
            code, log, outputs = self.find(ACTION_REF=VERSION, INPUT_CHECKSUM=digest)
            self.assertEqual(code, 0, log)
            self.assertTrue(Path(outputs["path"]).is_file())
        self.assertEqual(self.github.count("GET", "releases"), 1)

    def test_a_release_that_is_not_what_its_checksum_says_is_never_run(self):
        self.release(program=b"#!/bin/sh\ntouch evil\n")
        code, log, outputs = self.find(INPUT_VERSION=VERSION, INPUT_CHECKSUM="0" * 64)
        self.assertEqual((code, outputs), (2, {}))
        self.assertIn("checksum", log)
        self.assertFalse((self.folder / "evil").exists())

    def test_a_release_without_a_known_checksum_is_refused(self):
        self.release()
        code, log, _ = self.find(INPUT_VERSION=VERSION)
        self.assertEqual(code, 2)
        self.assertIn("checksum", log)
        self.assertEqual(self.github.calls, [])

    def test_a_release_that_is_not_there_is_told(self):
        code, log, _ = self.find(INPUT_VERSION=VERSION, INPUT_CHECKSUM="0" * 64)
        self.assertEqual(code, 2)
        self.assertIn("cannot download", log)

    def test_a_program_in_the_cache_that_somebody_changed_is_never_run(self):
        digest = self.release()
        self.find(ACTION_REF=VERSION, INPUT_CHECKSUM=digest)
        evil = b"#!/bin/sh\ntouch evil\n"
        for kept in [path for path in (self.folder / "tools").rglob("*") if path.is_file()]:
            kept.write_bytes(evil)
            kept.chmod(0o755)
        planted = self.folder / "tools/rollout" / VERSION / "rollout"
        planted.write_bytes(evil)
        planted.chmod(0o755)
        code, log, outputs = self.find(ACTION_REF=VERSION, INPUT_CHECKSUM=digest)
        self.assertEqual(code, 0, log)
        self.assertEqual(self.github.count("GET", "releases"), 2)
        self.assertIn("rollout 9.9.9", log)
        self.assertFalse((self.folder / "evil").exists())
        self.assertNotEqual(Path(outputs["path"]).read_bytes(), evil)

    def test_a_build_reads_no_configuration_of_the_pull_request(self):
        # Cargo and rustup look for theirs in the current folder and above it.
        cargo = self.folder / "bin/cargo"
        cargo.parent.mkdir()
        cargo.write_text(f'#!/bin/bash\npwd >"{self.folder}/where"\nexit 1\n')
        cargo.chmod(0o755)
        code, log, _ = self.find(ACTION_REF="main", PATH=f"{cargo.parent}:{os.environ['PATH']}")
        self.assertEqual(code, 2, log)
        self.assertEqual((self.folder / "where").read_text().strip(), str(ROOT))

    def test_used_by_branch_it_is_built_with_the_locked_dependencies(self):
        cargo = self.folder / "bin/cargo"
        cargo.parent.mkdir()
        cargo.write_text(f'#!/bin/bash\nprintf "%s\\n" "$*" >>"{self.folder}/asked"\nwhile [ "$1" != --target-dir ]; do shift; done\nmkdir -p "$2/release"\ncp "{PROGRAM}" "$2/release/rollout"\n')
        cargo.chmod(0o755)
        code, log, outputs = self.find(ACTION_REF="main", PATH=f"{cargo.parent}:{os.environ['PATH']}")
        self.assertEqual(code, 0, log)
        self.assertIn("--locked", (self.folder / "asked").read_text())
        self.assertTrue(Path(outputs["path"]).is_file())


class Documented(unittest.TestCase):
    """The workflows that people copy, and our own."""

    def blocks(self):
        documented = (ROOT / "docs/github-action.md").read_text().split("```yaml\n")[1:]
        own = [path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml")]
        return [block.split("```")[0] for block in documented] + own

    def test_actions_are_named_by_commit(self):
        used = [line.strip(" -") for block in self.blocks() for line in block.splitlines() if "uses: " in line]
        self.assertGreater(len(used), 8)
        for line in used:
            self.assertRegex(line, r"^uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")

    def test_a_token_is_kept_only_where_plans_are_committed(self):
        checkouts = [block for block in self.blocks() if "actions/checkout@" in block]
        self.assertGreater(len(checkouts), 3)
        for block in checkouts:
            if "commit\"" not in block:
                self.assertEqual(block.count("actions/checkout@"), block.count("persist-credentials: false"), block)

    def test_no_workflow_gives_a_strangers_change_the_right_to_write(self):
        for block in self.blocks():
            self.assertNotIn("pull_request_target", block)
            if "workflow_run" in block:
                self.assertNotIn("actions/checkout@", block)


class Repository(Case):
    """A repository with a base and a change."""

    def setUp(self):
        super().setUp()
        self.repository = self.folder / "repository"
        self.repository.mkdir()
        self.git("init", "-q", "-b", "main")
        self.commit(EXAMPLE / "before", "before")
        self.git("checkout", "-q", "-b", "change")
        self.commit(EXAMPLE / "after", "after")

    def git(self, *arguments):
        identity = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"]
        return subprocess.run(["git", *identity, *arguments], cwd=self.repository, check=True, capture_output=True, text=True).stdout

    def commit(self, tree, message):
        shutil.copytree(tree, self.repository, dirs_exist_ok=True, copy_function=shutil.copy)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)


class Rendered(Repository):
    """action/render.sh"""

    def render(self, **environment):
        given = {"PROGRAM": str(PROGRAM), "INPUT_PATH": str(self.repository), "INPUT_BASE": "main", "INPUT_MODE": "none"}
        given |= {"INPUT_OUT": "", "INPUT_BRANCH": "", "INPUT_FAIL_ON": "error", "INPUT_COMMENT_KEY": "default"}
        code, log, outputs = self.step("render.sh", **(given | environment))
        self.assertEqual(code, 0, log)
        return log, outputs

    def test_a_release_is_rendered_for_each_reader(self):
        log, outputs = self.render()
        self.assertEqual((outputs["changed"], outputs["rollouts"], outputs["exit-code"]), ("true", "1", "0"), log)
        comment = Path(outputs["comment-path"]).read_text()
        self.assertTrue(comment.startswith('<!-- rollout:v1 {"key":"default",'), comment[:200])
        self.assertIn("shop", comment)
        self.assertIn(comment, (self.folder / "summary").read_text())
        self.assertIn("<!DOCTYPE html>", Path(outputs["html-path"]).read_text()[:200])
        self.assertEqual(json.loads(Path(outputs["json-path"]).read_text())["plans"][0]["name"], "shop")

    def test_a_change_of_nothing_is_no_release(self):
        self.git("checkout", "-q", "main")
        _, outputs = self.render()
        self.assertEqual((outputs["changed"], outputs["rollouts"]), ("false", "0"))

    def test_a_finding_is_an_annotation_at_its_line(self):
        file = next(path for path in self.repository.rglob("*.yaml") if "kind: Rollout" in path.read_text())
        file.write_text(file.read_text().replace("kind: Deployment", "kind: Deplyment"))
        log, outputs = self.render()
        self.assertEqual((outputs["exit-code"], outputs["errors"] != "0"), ("1", True), log)
        self.assertRegex(log, r"(?m)^::error .*file=.*line=\d+")

    def test_a_plan_that_was_not_committed_fails_the_check_and_a_committed_one_passes(self):
        _, outputs = self.render(INPUT_MODE="check")
        self.assertEqual(outputs["exit-code"], "1")
        subprocess.run([PROGRAM, "render", "--base", "main", "--out"], cwd=self.repository, check=True, capture_output=True)
        _, outputs = self.render(INPUT_MODE="comment, check")
        self.assertEqual(outputs["exit-code"], "0")

    def test_plans_are_committed_and_pushed_to_their_branch(self):
        remote = self.folder / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", remote], check=True)
        self.git("remote", "add", "origin", str(remote))
        self.git("push", "-q", "origin", "main", "change")
        log, outputs = self.render(INPUT_MODE="commit", INPUT_BRANCH="plans")
        self.assertEqual(outputs["exit-code"], "0", log)
        files = self.git("--git-dir", str(remote), "ls-tree", "-r", "--name-only", "plans")
        self.assertIn("rollouts/prod/shop/plan.yaml", files.splitlines())

    def test_a_base_that_was_not_fetched_is_no_answer(self):
        log, outputs = self.render(INPUT_BASE="origin/nowhere")
        self.assertEqual(outputs["exit-code"], "2")
        self.assertIn("::error", log)

    def test_an_unknown_mode_is_told(self):
        log, outputs = self.render(INPUT_MODE="coment")
        self.assertEqual(outputs["exit-code"], "2")
        self.assertIn("coment", log)


@unittest.skipUnless(ACT, "act is not here; tests/action/run installs it")
class Whole(Repository):
    """action.yml, by act."""

    def run_act(self, step, event="pull_request"):
        action = self.repository / ".github/actions/rollout"
        shutil.copytree(ROOT / "action", action / "action")
        shutil.copy(ROOT / "action.yml", action)
        workflow = self.repository / ".github/workflows/rollout.yml"
        workflow.parent.mkdir(parents=True)
        workflow.write_text(step)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "workflow")
        file = self.folder / "event.json"
        file.write_text(json.dumps(self.event))
        command = [ACT, event, "-P", "ubuntu-latest=-self-hosted", "-e", file, "--no-cache-server", "-s", "GITHUB_TOKEN=secret-token"]
        command += ["--env", f"GITHUB_API_URL={self.github.url}", "--env", "GITHUB_REPOSITORY=o/r"]
        environment = os.environ | {"HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return subprocess.run(command, cwd=self.repository, env=environment, capture_output=True, text=True, timeout=300)

    WORKFLOW = """
name: rollout
on: pull_request
jobs:
  rollout:
    runs-on: ubuntu-latest
    permissions: {contents: read, pull-requests: write}
    steps:
    - uses: actions/checkout@v4
    - id: rollout
      uses: ./.github/actions/rollout
      with: {base: main, binary: PROGRAM}
    - run: |
        echo "changed is ${{ steps.rollout.outputs.changed }}"
        echo "comment is at ${{ steps.rollout.outputs.comment-url }}"
"""

    def test_a_pull_request_gets_its_comment_and_outputs(self):
        ran = self.run_act(self.WORKFLOW.replace("PROGRAM", str(PROGRAM)))
        log = ran.stdout + ran.stderr
        self.assertEqual(ran.returncode, 0, log)
        self.assertIn("changed is true", log)
        self.assertIn(f"comment is at {self.github.url}/comment/1", log)
        self.assertEqual(len(self.github.comments), 1)

    def test_an_error_fails_the_job_and_is_commented(self):
        file = next(path for path in self.repository.rglob("*.yaml") if "kind: Rollout" in path.read_text())
        file.write_text(file.read_text().replace("kind: Deployment", "kind: Deplyment"))
        ran = self.run_act(self.WORKFLOW.replace("PROGRAM", str(PROGRAM)))
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(len(self.github.comments), 1, ran.stdout + ran.stderr)


if __name__ == "__main__":
    unittest.main()
