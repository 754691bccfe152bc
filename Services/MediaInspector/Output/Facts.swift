import Bytes
import JSON

/// What was found out about a file: the frame `facts`, as JSON.
struct Facts {
    /// What the file is.
    var type: String
    /// What the re-encoded content is, if there is one.
    var contentType: String?
    var width: Int?
    var height: Int?
    /// In milliseconds; written in seconds.
    var duration: Int?
    var thumbhash: [UInt8]?
    var waveform: [UInt8]?
    var thumbnails: [Thumbnail] = []

    struct Thumbnail {
        let size: ThumbnailSize
        let width: Int
        let height: Int
    }

    init(type: String) { self.type = type }

    var json: [UInt8] {
        var buffer = begun(verdict: "ready")
        buffer.append(key: "contentType", json: contentType)
        buffer.append(key: "width", json: width)
        buffer.append(key: "height", json: height)
        if let duration {
            buffer.append(key: "duration")
            buffer.append(seconds: duration)
        }
        buffer.append(key: "thumbhash", json: thumbhash?.base64)
        append(waveform: waveform, to: &buffer)
        append(thumbnails: thumbnails, to: &buffer)
        buffer.endObject()
        return buffer.array
    }

    func json(refusedFor reason: Refusal) -> [UInt8] {
        var buffer = begun(verdict: "refused")
        buffer.append(key: "reason", json: reason.rawValue)
        buffer.endObject()
        return buffer.array
    }

    private func begun(verdict: String) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.beginObject()
        buffer.append(key: "type", json: type)
        buffer.append(key: "verdict", json: verdict)
        return buffer
    }

    private func append(waveform: [UInt8]?, to buffer: inout ByteBuffer) {
        guard let waveform else { return }
        buffer.append(key: "waveform")
        buffer.beginArray()
        for peak in waveform { buffer.append(element: Int(peak)) }
        buffer.endArray()
    }

    private func append(thumbnails: [Thumbnail], to buffer: inout ByteBuffer) {
        guard !thumbnails.isEmpty else { return }
        buffer.append(key: "thumbnails")
        buffer.beginArray()
        for thumbnail in thumbnails {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "size", json: thumbnail.size.rawValue)
            buffer.append(key: "width", json: thumbnail.width)
            buffer.append(key: "height", json: thumbnail.height)
            buffer.append(key: "type", json: PictureFormat.webp.rawValue)
            buffer.endObject()
        }
        buffer.endArray()
    }
}

/// The thumbnails that every picture and poster has, none larger than the picture itself.
enum ThumbnailSize: String, CaseIterable {
    case small
    case large

    /// What it fits into.
    var pixels: Int {
        switch self {
        case .small: 256
        case .large: 1280
        }
    }
}

extension ByteBuffer {
    /// Milliseconds as seconds with three digits: no floating point, so that it is always a number of JSON.
    fileprivate mutating func append(seconds milliseconds: Int) {
        append(decimal: Int64(milliseconds / 1000))
        let rest = String(milliseconds % 1000)
        append(utf8: "." + String(repeating: "0", count: 3 - rest.count) + rest)
    }
}

extension [UInt8] {
    var base64: String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: count, by: 3) {
            let group = self[start..<Swift.min(start + 3, count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for digit in 0..<4 {
                text.append(digit <= group.count ? digits[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
