import Bytes
import JSON
import Models

extension Problem {
    /// `{"status":404,"title":"Not found","detail":"…","code":"notFound"}`
    ///
    /// - Parameter status: the response's status, if it is not the code's own: 405 and 426 have the code `invalid`.
    public func writeJSON(to buffer: inout ByteBuffer, status: Int? = nil) {
        buffer.beginObject()
        buffer.append(key: "status", json: status ?? Int(code.status))
        buffer.append(key: "title", json: code.title)
        buffer.append(key: "detail", json: detail)
        buffer.append(key: "code", json: code.name)
        if let suspension {
            buffer.append(key: "mode", json: suspension.mode.name)
            buffer.append(key: "until", json: suspension.until)
        }
        buffer.endObject()
    }
}
