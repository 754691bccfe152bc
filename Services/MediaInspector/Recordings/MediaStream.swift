import CAV
import Glibc

/// One of the streams of a container.
struct MediaStream {
    private let stream: UnsafeMutablePointer<AVStream>

    init(_ stream: UnsafeMutablePointer<AVStream>) { self.stream = stream }

    var index: Int32 { stream.pointee.index }
    var parameters: UnsafeMutablePointer<AVCodecParameters> { stream.pointee.codecpar }
    var isAttachedPicture: Bool { stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0 }

    /// Since the stream's begin. None where that cannot be told, or is beyond a year.
    func milliseconds(at time: Int64, plus duration: Int64 = 0) -> Int? {
        guard time != av_no_time, stream.pointee.time_base.den > 0 else { return nil }
        let start = stream.pointee.start_time == av_no_time ? 0 : stream.pointee.start_time
        let ticks = Double(time) + Double(max(0, duration)) - Double(start)
        let milliseconds = ticks * av_q2d(stream.pointee.time_base) * 1000
        return (0..<31_536_000_000).contains(milliseconds) ? Int(milliseconds) : nil
    }

    // MARK: Video

    /// How it is shown: with pixels that are not square made so, before it is turned.
    var shownWidth: Int {
        let ratio =
            stream.pointee.sample_aspect_ratio.num > 0
            ? stream.pointee.sample_aspect_ratio : parameters.pointee.sample_aspect_ratio
        guard ratio.num > 0, ratio.den > 0 else { return codedWidth }
        return max(1, Int(min(1e9, (Double(codedWidth) * av_q2d(ratio)).rounded())))
    }

    var codedWidth: Int { Int(parameters.pointee.width) }
    var height: Int { Int(parameters.pointee.height) }

    /// In quarters of a turn, clockwise.
    var quarterTurns: Int {
        var length = 0
        guard let bytes = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &length), length >= 36 else {
            return 0
        }
        let degrees = bytes.withMemoryRebound(to: Int32.self, capacity: 9) { av_display_rotation_get($0) }
        guard degrees.isFinite else { return 0 }
        return (Int((-degrees / 90).rounded()) % 4 + 4) % 4
    }
}

/// What is decoded: what browsers play, and what phones record. Each other codec would be more code for strangers to try.
enum Codecs {
    static let names = [
        "h264", "hevc", "vp8", "vp9", "libdav1d", "mpeg4", "mjpeg", "h263", "aac", "mp3float", "opus", "vorbis", "flac",
        "alac", "amrnb", "amrwb", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_f32le",
        "pcm_u8",
        "pcm_alaw", "pcm_mulaw",
    ]

    static func find(_ parameters: UnsafeMutablePointer<AVCodecParameters>) -> UnsafePointer<AVCodec>? {
        guard let codec = avcodec_find_decoder(parameters.pointee.codec_id) else { return nil }
        return names.contains(String(cString: codec.pointee.name)) ? codec : nil
    }
}
