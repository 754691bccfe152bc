import Models

extension Attachment {
    public enum Kind: Hashable, Sendable { case photo, video, audio, file }

    public var kind: Kind {
        switch type.prefix(while: { $0 != "/" }) {
        case "image": .photo
        case "video": .video
        case "audio": .audio
        default: .file
        }
    }

    /// What stands for it where there is no text: "Photo", "Video", "Audio", or its name.
    public var title: String {
        switch kind {
        case .photo: "Photo"
        case .video: "Video"
        case .audio: "Audio"
        case .file: name
        }
    }
}

extension Message {
    /// What is shown of a sealed message where the application shows nothing else.
    public static let sealedTitle = "Encrypted message"

    /// What a preview shows of it: its text, or what its first file is.
    public var previewText: String? {
        if kind == .sealed, !deletedForEveryone { return Self.sealedTitle }
        guard let attachments, text?.isEmpty ?? true else { return text }
        return attachments.first?.title ?? text
    }
}

extension [Attachment] {
    /// Nil without any.
    var stored: String? { isEmpty ? nil : String(json: self) }

    var storedNames: String? { isEmpty ? nil : map(\.name).joined(separator: "\n") }
}
