import Edge

/// The media types that a file is served with. What is none of these might run in a browser, and is served as bytes of
/// unknown content that a browser saves.
enum MediaType {
    static let unknown = "application/octet-stream"

    /// Types that a browser shows and does not run. Of SVG, HTML, PDF and XML none is among them.
    private static let shown: [String: ContentType] = [
        "image/jpeg": ContentType("image/jpeg"), "image/png": ContentType("image/png"),
        "image/gif": ContentType("image/gif"), "image/webp": ContentType("image/webp"),
        "image/avif": ContentType("image/avif"), "image/heic": ContentType("image/heic"),
        "video/mp4": ContentType("video/mp4"), "video/webm": ContentType("video/webm"),
        "video/quicktime": ContentType("video/quicktime"), "video/ogg": ContentType("video/ogg"),
        "audio/mpeg": ContentType("audio/mpeg"),
        "audio/mp4": ContentType("audio/mp4"), "audio/aac": ContentType("audio/aac"),
        "audio/ogg": ContentType("audio/ogg"), "audio/webm": ContentType("audio/webm"),
        "audio/wav": ContentType("audio/wav"), "audio/flac": ContentType("audio/flac"),
    ]

    /// How a file of this type is served: nil for as bytes to save.
    static func served(_ type: String?) -> ContentType? { type.flatMap { shown[$0] } }

    static let bytes = ContentType("application/octet-stream")
    static let thumbnail = ContentType("image/webp")
}
