/// What a file is, judged by its first bytes and never by its name.
///
/// Only what is looked into, and what no browser runs, has a type of its own. Everything else, SVG, HTML and XML among it,
/// is `application/octet-stream`.
enum FileType: Equatable {
    case picture(PictureFormat)
    case recording(RecordingFormat)
    case other(String)

    static let unknown = FileType.other("application/octet-stream")

    init(_ bytes: UnsafeRawBufferPointer) {
        self =
            PictureFormat(bytes).map(FileType.picture) ?? RecordingFormat(bytes).map(FileType.recording)
            ?? Self.others.first { bytes.begins(with: $0.magic) }.map { .other($0.name) } ?? .unknown
    }

    var name: String {
        switch self {
        case .picture(let format): format.rawValue
        case .recording(let format): format.name
        case .other(let name): name
        }
    }

    private static let others: [(magic: [UInt8], name: String)] = [
        (Array("%PDF-".utf8), "application/pdf"),
        ([0x50, 0x4B, 0x03, 0x04], "application/zip"),
        ([0x1F, 0x8B, 0x08], "application/gzip"),
        ([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], "application/x-7z-compressed"),
    ]
}

/// The pictures that are looked into, by their media types.
enum PictureFormat: String {
    case jpeg = "image/jpeg"
    case png = "image/png"
    case gif = "image/gif"
    case webp = "image/webp"
    case heic = "image/heic"
    case avif = "image/avif"

    init?(_ bytes: UnsafeRawBufferPointer) {
        if bytes.begins(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.begins(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if bytes.begins(with: "GIF87a") || bytes.begins(with: "GIF89a") {
            self = .gif
        } else if bytes.begins(with: "RIFF"), bytes.begins(with: "WEBP", at: 8) {
            self = .webp
        } else if let brands = FileBrands(bytes), let format = brands.picture {
            self = format
        } else {
            return nil
        }
    }
}

/// Containers of video and audio, by what their first bytes say; what is inside is known once the container was read.
struct RecordingFormat: Equatable {
    /// The demuxer of libavformat that reads it. No other is tried.
    let demuxer: String
    /// Its media type with pictures in it, and without.
    let video: String
    let audio: String

    /// Before it was looked into.
    var name: String { video }

    private init(_ demuxer: String, video: String? = nil, audio: String) {
        self.demuxer = demuxer
        self.video = video ?? audio
        self.audio = audio
    }

    static let mp4 = RecordingFormat("mov", video: "video/mp4", audio: "audio/mp4")
    static let quickTime = RecordingFormat("mov", video: "video/quicktime", audio: "audio/mp4")
    static let webm = RecordingFormat("matroska", video: "video/webm", audio: "audio/webm")
    static let matroska = RecordingFormat("matroska", video: "video/x-matroska", audio: "audio/x-matroska")
    static let ogg = RecordingFormat("ogg", video: "video/ogg", audio: "audio/ogg")
    static let mp3 = RecordingFormat("mp3", audio: "audio/mpeg")
    static let aac = RecordingFormat("aac", audio: "audio/aac")
    static let wav = RecordingFormat("wav", audio: "audio/wav")
    static let flac = RecordingFormat("flac", audio: "audio/flac")

    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let format = Self.byMagic(bytes) ?? FileBrands(bytes)?.recording ?? Self.bySync(bytes) else { return nil }
        self = format
    }

    private static func byMagic(_ bytes: UnsafeRawBufferPointer) -> RecordingFormat? {
        if bytes.begins(with: [0x1A, 0x45, 0xDF, 0xA3]) {
            // The name of the document type follows within the first element.
            return bytes.prefix(64).contains(sequence: "webm") ? webm : matroska
        }
        if bytes.begins(with: "RIFF"), bytes.begins(with: "WAVE", at: 8) { return wav }
        if bytes.begins(with: "OggS") { return ogg }
        if bytes.begins(with: "fLaC") { return flac }
        if bytes.begins(with: "ID3") { return mp3 }
        // QuickTime files from before there were brands.
        if quickTimeBoxes.contains(where: { bytes.begins(with: $0, at: 4) }) { return quickTime }
        return nil
    }

    private static let quickTimeBoxes: [StaticString] = ["moov", "mdat", "wide"]

    /// Streams without a header begin with the header of a frame.
    private static func bySync(_ bytes: UnsafeRawBufferPointer) -> RecordingFormat? {
        guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] & 0xE0 == 0xE0 else { return nil }
        if bytes[1] & 0xF6 == 0xF0 { return aac }
        let isLayer3 = bytes[1] & 0x06 == 0x02
        let isReserved = bytes[1] & 0x18 == 0x08 || bytes[2] & 0xF0 == 0xF0 || bytes[2] & 0x0C == 0x0C
        return isLayer3 && !isReserved ? mp3 : nil
    }
}

/// The brands in the first box of an ISO media file: the major one, then those that it is compatible with.
struct FileBrands {
    private let brands: [String]

    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.begins(with: "ftyp", at: 4) else { return nil }
        let declared = bytes[0..<4].reduce(0) { $0 << 8 | Int($1) }
        let end = min(declared, bytes.count, 256)
        guard end >= 12 else { return nil }
        // The minor version, at 12, is no brand.
        brands = ([8] + stride(from: 16, to: end - 3, by: 4)).map {
            String(decoding: bytes[$0..<$0 + 4], as: UTF8.self)
        }
    }

    var picture: PictureFormat? {
        guard Self.stills.contains(brands[0]) else { return nil }
        return brands.contains { $0 == "avif" || $0 == "avis" } ? .avif : .heic
    }

    var recording: RecordingFormat? {
        if brands[0] == "qt  " { return .quickTime }
        return brands.contains { Self.movies.contains($0) } ? .mp4 : nil
    }

    private static let stills: Set = ["avif", "avis", "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"]
    private static let movies: Set = [
        "isom", "iso2", "iso3", "iso4", "iso5", "iso6", "mp41", "mp42", "avc1", "dash", "M4A ", "M4B ", "M4V ", "MSNV",
        "3gp4", "3gp5", "3gp6", "3g2a",
    ]
}

extension UnsafeRawBufferPointer {
    func begins(with magic: some Collection<UInt8>, at offset: Int = 0) -> Bool {
        count >= offset + magic.count && self[offset...].starts(with: magic)
    }

    func begins(with magic: StaticString, at offset: Int = 0) -> Bool {
        begins(with: UnsafeBufferPointer(start: magic.utf8Start, count: magic.utf8CodeUnitCount), at: offset)
    }
}

extension Slice<UnsafeRawBufferPointer> {
    func contains(sequence: StaticString) -> Bool {
        let sought = UnsafeBufferPointer(start: sequence.utf8Start, count: sequence.utf8CodeUnitCount)
        return indices.contains { self[$0...].starts(with: sought) }
    }
}
