/// An uploaded file, as its uploader and the readers of a message that carries it see it.
public struct MediaFile: Hashable, Sendable, Codable, Identifiable {
    public var id: MediaID
    /// The name that its uploader gave it, of at most 255 bytes. It is not to be trusted.
    public var name: String
    /// The media type, judged by the content; `application/octet-stream` until it is known.
    public var type: String
    /// The bytes of the content; before the file is ready, those that were announced.
    public var size: Int64
    /// Of the content, in hexadecimal.
    public var sha256: String?
    public var state: Open<MediaState>
    /// Why it was refused.
    public var reason: String?
    /// Of a picture or a video, in pixels, as it is shown.
    public var width: Int?
    public var height: Int?
    /// Of a video or audio, in seconds.
    public var duration: Double?
    /// Of a picture or a video: 25 bytes or so in base64, shown until there is a thumbnail.
    public var thumbhash: String?
    /// Of audio: up to 64 values from 0 to 255.
    public var waveform: [Int]?
    public var thumbnails: [Thumbnail]

    /// A small picture of a picture or a video.
    public struct Thumbnail: Hashable, Sendable, Codable {
        public var size: Open<ThumbnailSize>
        /// In pixels.
        public var width: Int
        public var height: Int
        /// The media type.
        public var type: String
    }
}

/// What has become of an upload.
public enum MediaState: CaseIterable, ContractName {
    /// Bytes are missing.
    case uploading
    /// It is complete, and is looked into.
    case processing
    /// It can be sent and read.
    case ready
    /// It can be neither.
    case refused

    public var name: StaticString {
        switch self {
        case .uploading: "uploading"
        case .processing: "processing"
        case .ready: "ready"
        case .refused: "refused"
        }
    }
}

public enum ThumbnailSize: CaseIterable, ContractName {
    case small, large

    public var name: StaticString {
        switch self {
        case .small: "small"
        case .large: "large"
        }
    }
}

/// Addresses of a file, relative to that of `media`, for whoever has them until they expire.
public struct SignedMedia: Hashable, Sendable, Codable {
    public struct Thumbnails: Hashable, Sendable, Codable {
        public var small: String
        public var large: String
    }

    /// Of the content.
    public var url: String
    /// Nil if there are no thumbnails.
    public var thumbnailUrls: Thumbnails?
    public var expiresAt: Timestamp
}
