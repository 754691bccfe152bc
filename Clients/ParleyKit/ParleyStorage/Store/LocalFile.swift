import Foundation
import Models

/// A file of this device that the user sends. It is copied at once.
public struct LocalFile: Hashable, Sendable {
    public var url: URL
    /// The name that others see.
    public var name: String
    /// The media type, for what is shown until the server has looked into the file.
    public var type: String
    /// In pixels, as far as the application knows them.
    public var width: Int?
    public var height: Int?
    /// In seconds.
    public var duration: Double?

    /// - Parameters:
    ///   - name: nil for that of the file.
    ///   - type: nil to guess it from the name.
    public init(
        _ url: URL, name: String? = nil, type: String? = nil, width: Int? = nil, height: Int? = nil,
        duration: Double? = nil
    ) {
        self.url = url
        self.name = name ?? url.lastPathComponent
        self.type = type ?? Self.type(of: self.name)
        self.width = width
        self.height = height
        self.duration = duration
    }

    private static func type(of name: String) -> String {
        let end = name.split(separator: ".").last.map { $0.lowercased() } ?? ""
        return types[end] ?? "application/octet-stream"
    }

    private static let types = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
        "heic": "image/heic", "avif": "image/avif", "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime",
        "webm": "video/webm", "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "ogg": "audio/ogg",
        "wav": "audio/wav", "flac": "audio/flac", "pdf": "application/pdf", "txt": "text/plain",
    ]

    /// What a message shows until the server has looked into it.
    func attachment(_ id: MediaID, size: Int64) -> Attachment {
        Attachment(
            id: id, name: name, type: type, size: size, width: width, height: height, duration: duration)
    }
}

/// A file of the user that was copied.
package struct CopiedFile: Hashable, Sendable {
    package let name: String
    package let size: Int64
    package let attachment: Attachment

    /// - Parameter id: stands for it until the server has given it one, and names the copy.
    package init(
        _ file: LocalFile, id: MediaID, in folder: FileFolder, limit: Int64
    ) throws(FileProblem) {
        name = id.description
        size = try folder.copy(file.url, as: name, limit: limit)
        attachment = file.attachment(id, size: size)
    }
}

/// A file of a message that the server does not have yet.
package struct OutgoingFile: Hashable, Sendable {
    package var key: Int64
    /// Its name in the folder.
    package var file: String
    /// What is known of it; what the server says when it is ready.
    package var attachment: Attachment
    package var size: Int64
    package var mediaId: MediaID?
    /// Acknowledged by the server.
    package var sentBytes: Int64
    /// Whether a message may carry it.
    package var isReady: Bool

    package init(
        key: Int64, file: String, attachment: Attachment, size: Int64, mediaId: MediaID? = nil, sentBytes: Int64 = 0,
        isReady: Bool = false
    ) {
        self.key = key
        self.file = file
        self.attachment = attachment
        self.size = size
        self.mediaId = mediaId
        self.sentBytes = sentBytes
        self.isReady = isReady
    }
}

/// A file of a message, with what this device has of it.
public struct AttachmentRow: Hashable, Sendable, Identifiable {
    public enum State: Hashable, Sendable {
        /// The server has the message that carries it.
        case stored
        /// Its bytes are on their way, or wait for the network. `Talk.uploads` tells how far they are.
        case uploading
        /// The server looks into it.
        case processing
        /// The server has it, and waits for the message.
        case uploaded
    }

    public var id: MediaID { attachment.id }
    /// Its name comes from a stranger: it is no path, and may hold anything.
    public var attachment: Attachment
    /// The message that carries it.
    public var message: MessageID
    /// Where the file is on this device; nil if it has to be loaded.
    public var content: URL?
    /// Where a thumbnail is on this device, the larger one if both are.
    public var thumbnail: URL?
    public var state: State

    public init(
        attachment: Attachment, message: MessageID, content: URL? = nil, thumbnail: URL? = nil, state: State = .stored
    ) {
        self.attachment = attachment
        self.message = message
        self.content = content
        self.thumbnail = thumbnail
        self.state = state
    }
}

/// How far the files of a message are.
public struct UploadProgress: Hashable, Sendable {
    /// Acknowledged by the server.
    public var sentBytes: Int64
    /// Of all files of the message.
    public var totalBytes: Int64

    public init(sentBytes: Int64, totalBytes: Int64) {
        self.sentBytes = sentBytes
        self.totalBytes = totalBytes
    }
}
