"""As much of GitHub's REST API as the action calls, on a free port of the loopback, with failures on demand."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer


class GitHub:
    """A pull request with comments. `fail` makes the next matching calls end with a status."""

    def __init__(self, login="github-actions[bot]", head="a" * 40):
        self.login, self.head = login, head
        self.comments, self.calls, self.failures, self.assets = [], [], [], {}
        self._next_id = 1
        handler = type("Handler", (_Handler,), {"github": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def comment(self, body, login=None):
        number, self._next_id = self._next_id, self._next_id + 1
        comment = {"id": number, "body": body, "user": {"login": login or self.login}, "html_url": f"{self.url}/comment/{number}"}
        self.comments.append(comment)
        return comment

    def fail(self, method, path, status, times=1, headers=None, message="refused"):
        """The next `times` calls whose path matches end with `status`; with `times=None`, all of them."""
        self.failures.append({"method": method, "path": path, "status": status, "times": times, "headers": headers or {}, "message": message})

    def count(self, method, path):
        return sum(1 for called, at in self.calls if called == method and re.search(path, at))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self):
        # Without the look-up of the host's name, which waits for a name server.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address


class _Handler(BaseHTTPRequestHandler):
    github = None

    def log_message(self, *_):
        pass

    def _answer(self, status, value, headers=None):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def _call(self):
        github, method = self.github, self.command
        github.calls.append((method, self.path))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        for failure in github.failures:
            if failure["method"] == method and re.search(failure["path"], self.path) and failure["times"] != 0:
                if failure["times"] is not None:
                    failure["times"] -= 1
                return self._answer(failure["status"], {"message": failure["message"]}, failure["headers"])
        if self.path in github.assets:
            return self._answer(200, github.assets[self.path])
        if self.headers.get("Authorization") != "Bearer secret-token":
            return self._answer(401, {"message": "Bad credentials"})
        if self.path == "/graphql":
            return self._answer(200, {"data": {"viewer": {"login": github.login}}})
        if re.fullmatch(r"/repos/o/r/pulls/7", self.path):
            return self._answer(200, {"head": {"sha": github.head}})
        if page := re.fullmatch(r"/repos/o/r/issues/7/comments\?per_page=100&page=(\d+)", self.path):
            start = (int(page[1]) - 1) * 100
            return self._answer(200, github.comments[start : start + 100])
        if self.path == "/repos/o/r/issues/7/comments" and method == "POST":
            text = json.loads(body)["body"]
            if len(text) > 65_536:
                return self._answer(422, {"message": "Body is too long"})
            return self._answer(201, github.comment(text))
        if (one := re.fullmatch(r"/repos/o/r/issues/comments/(\d+)", self.path)) and method == "PATCH":
            for comment in github.comments:
                if comment["id"] == int(one[1]):
                    comment["body"] = json.loads(body)["body"]
                    return self._answer(200, comment)
        return self._answer(404, {"message": "Not Found"})

    do_GET = do_POST = do_PATCH = _call
