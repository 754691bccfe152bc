import Bytes
import JSON

extension Problem {
    /// `{"status":404,"title":"Not found","detail":"…","code":"notFound"}`
    package func writeJSON(to buffer: inout ByteBuffer) {
        buffer.beginObject()
        buffer.append(key: "status", json: Int(code.status))
        buffer.append(key: "title", json: code.title)
        buffer.append(key: "detail", json: detail)
        buffer.append(key: "code", json: code.name)
        buffer.endObject()
    }
}
