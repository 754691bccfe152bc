import Foundation
import Models
import ParleyStorage

/// A call about a file. Uploads are those of tus 1.0.0 (tus.io/protocols/resumable-upload).
package enum MediaCall: Hashable, Sendable {
    case create(size: Int64, name: String, type: String)
    /// How much of an upload the server has.
    case offset(MediaID)
    /// Bytes of a local file, from where the server is.
    case append(MediaID, file: String, from: Int64, count: Int)
    case describe(MediaID)
    case terminate(MediaID)
    case read(MediaID, FilePart, from: Int64, count: Int)
}

package enum MediaResponse: Hashable, Sendable {
    case created(MediaID)
    /// The server has so many bytes; and of how many, where that was asked.
    case offset(Int64, ofSize: Int64?)
    case described(UploadedFile)
    case piece(Data, from: Int64, ofSize: Int64)
    case done
}

/// What the server says of an uploaded file.
package struct UploadedFile: Hashable, Sendable, Decodable {
    package enum State: String, Hashable, Sendable {
        case uploading, processing, ready, refused
    }

    package var attachment: Attachment
    /// Nil for a state of a later version.
    package var state: State?
    package var sha256: String?
    /// Why it was refused.
    package var reason: String?

    private enum Key: CodingKey { case state, sha256, reason }

    package init(_ attachment: Attachment, _ state: State, sha256: String? = nil, reason: String? = nil) {
        self.attachment = attachment
        self.state = state
        self.sha256 = sha256
        self.reason = reason
    }

    package init(from decoder: any Decoder) throws {
        attachment = try Attachment(from: decoder)
        let fields = try decoder.container(keyedBy: Key.self)
        state = State(rawValue: try fields.decode(String.self, forKey: .state))
        sha256 = try fields.decodeIfPresent(String.self, forKey: .sha256)
        reason = try fields.decodeIfPresent(String.self, forKey: .reason)
    }
}

extension MediaCall {
    private static let tus = ["Tus-Resumable": "1.0.0"]

    /// - Parameters:
    ///   - body: the bytes that `append` names.
    ///   - sha256: their digest.
    package func form(body: Data? = nil, sha256: [UInt8] = []) -> HTTPForm {
        switch self {
        case .create(let size, let name, let type):
            var form = HTTPForm(.post, "/v1/media")
            form.headers = Self.tus
            form.headers["Upload-Length"] = "\(size)"
            form.headers["Upload-Metadata"] = "filename \(Self.base64(name.asFileName)),filetype \(Self.base64(type))"
            return form
        case .offset(let id): return Self.tusForm(.head, id)
        case .terminate(let id): return Self.tusForm(.delete, id)
        case .append(let id, _, let offset, _):
            var form = Self.tusForm(.patch, id)
            form.body = body
            form.contentType = "application/offset+octet-stream"
            form.headers["Upload-Offset"] = "\(offset)"
            // A proxy that mangles bytes is noticed, and the piece sent again.
            form.headers["Upload-Checksum"] = "sha256 \(Data(sha256).base64EncodedString())"
            return form
        case .describe(let id): return HTTPForm(.get, "/v1/media/\(id)")
        case .read(let id, let part, let offset, let count):
            let path = part == .content ? "content" : "thumbnail?size=\(part.rawValue)"
            var form = HTTPForm(.get, "/v1/media/\(id)/\(path)")
            form.headers["Range"] = "bytes=\(offset)-\(offset + Int64(count) - 1)"
            return form
        }
    }

    private static func tusForm(_ method: HTTPForm.Method, _ id: MediaID) -> HTTPForm {
        var form = HTTPForm(method, "/v1/media/\(id)")
        form.headers = tus
        return form
    }

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    /// Reads a response of 2xx; nil if it is none of the contract.
    ///
    /// - Parameter headers: by their names in lower case.
    package func response(status: Int, headers: [String: String], body: Data) -> MediaResponse? {
        switch self {
        case .create: headers["location"].flatMap { Self.id(in: $0) }.map { .created($0) }
        case .offset, .append:
            headers["upload-offset"].flatMap { Int64($0) }.map { offset in
                .offset(offset, ofSize: headers["upload-length"].flatMap { Int64($0) })
            }
        case .describe: (try? JSONDecoder().decode(UploadedFile.self, from: body)).map { .described($0) }
        case .terminate: .done
        case .read(_, _, let offset, let count):
            if status == 206 {
                Self.piece(body, headers["content-range"], from: offset, atMost: count)
            } else {
                .piece(body, from: 0, ofSize: Int64(body.count))
            }
        }
    }

    /// The last part of an address, absolute or not.
    private static func id(in location: String) -> MediaID? {
        location.split(separator: "/").last.flatMap { UUIDBytes(String($0)) }.map(MediaID.init)
    }

    /// `bytes 0-1023/4096`
    private static func piece(_ body: Data, _ range: String?, from offset: Int64, atMost count: Int) -> MediaResponse? {
        guard let range, range.hasPrefix("bytes \(offset)-"), body.count <= count,
            let size = range.split(separator: "/").last.flatMap({ Int64($0) }), offset + Int64(body.count) <= size
        else { return nil }
        return .piece(body, from: offset, ofSize: size)
    }
}

extension String {
    /// A name that the server accepts: not longer, and not empty.
    fileprivate var asFileName: String {
        var name = ""
        for character in self {
            guard name.utf8.count + character.utf8.count <= ContractLimits.mediaNameBytes else { break }
            name.append(character)
        }
        return name.isEmpty ? "file" : name
    }
}
