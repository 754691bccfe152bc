"""Users who upload files."""

import base64
import io
import time

from PIL import Image

from judged import PATIENCE
from people import Person

TUS = {"Tus-Resumable": "1.0.0"}
BODY = {"Content-Type": "application/offset+octet-stream"}


def picture() -> bytes:
    """A picture that is large enough to have two thumbnails."""
    buffer = io.BytesIO()
    Image.new("RGB", (1200, 900), "teal").save(buffer, "JPEG")
    return buffer.getvalue()


class Uploader:
    """A person's calls of `media`, judged as all others."""

    def __init__(self, person: Person, port: int | None = None):
        headers = {"Authorization": f"Bearer {person.token}"}
        self.http = person.system.http(port, service="media", headers=headers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.close()

    def post(self, size: int, name: str = "harbour.jpg", content: bytes | None = None, **headers: str):
        metadata = f"filename {base64.b64encode(name.encode()).decode()}"
        fields = TUS | {"Upload-Length": str(size), "Upload-Metadata": metadata} | (BODY if content else {}) | headers
        return self.http.post("/v1/media", headers=fields, content=content)

    def create(self, size: int) -> str:
        """The id of a new upload."""
        response = self.post(size)
        assert response.status_code == 201, response.text
        return response.headers["Location"].rpartition("/")[2]

    def patch(self, file: str, offset: int, content: bytes, **headers: str):
        fields = TUS | BODY | {"Upload-Offset": str(offset)} | headers
        return self.http.patch(f"/v1/media/{file}", headers=fields, content=content)

    def upload(self, content: bytes) -> str:
        """The id of a file that is ready, or refused."""
        file = self.create(len(content))
        assert self.patch(file, 0, content).status_code == 204
        deadline = time.monotonic() + PATIENCE
        while self.http.get(f"/v1/media/{file}").json()["state"] not in ("ready", "refused"):
            assert time.monotonic() < deadline, "the file is looked into"
            time.sleep(0.02)
        return file
