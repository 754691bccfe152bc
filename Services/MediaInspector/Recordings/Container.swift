import CAV

/// A file with video or audio in it, by libavformat, which reads from memory alone: it opens nothing, also not what a file
/// names.
final class Container {
    private let reader: MemoryReader
    private var context: UnsafeMutablePointer<AVFormatContext>?
    private var input: UnsafeMutablePointer<AVIOContext>?
    private let packet = av_packet_alloc()!
    /// The end of the last packet that was read, in milliseconds.
    private(set) var lastMilliseconds = 0

    init(_ bytes: UnsafeRawBufferPointer, demuxer: String) throws(Refusal) {
        reader = MemoryReader(bytes)
        context = avformat_alloc_context()
        input = avio_alloc_context(
            av_malloc(MemoryReader.pieceBytes).assumingMemoryBound(to: UInt8.self), Int32(MemoryReader.pieceBytes), 0,
            Unmanaged.passUnretained(reader).toOpaque(),
            { MemoryReader.at($0!).read($1!, $2) }, nil, { MemoryReader.at($0!).seek($1, $2) })
        context!.pointee.pb = input
        context!.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
        context!.pointee.io_open = { _, _, _, _, _ in av_not_permitted }
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        av_dict_set(&options, "codec_whitelist", Codecs.names.joined(separator: ","), 0)
        // Where it fails it frees the context.
        guard avformat_open_input(&context, nil, av_find_input_format(demuxer), &options) == 0,
            avformat_find_stream_info(context, nil) >= 0
        else { throw .unreadable }
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        avformat_close_input(&context)
        if input != nil { av_freep(&input!.pointee.buffer) }
        avio_context_free(&input)
    }

    /// As the file says.
    var milliseconds: Int? {
        let duration = context!.pointee.duration
        return duration == av_no_time || duration <= 0 ? nil : Int(duration / (av_time_base / 1000))
    }

    /// The pictures of an album are none of a video.
    var video: MediaStream? {
        best(AVMEDIA_TYPE_VIDEO).flatMap { $0.isAttachedPicture ? nil : $0 }
    }

    var audio: MediaStream? { best(AVMEDIA_TYPE_AUDIO) }

    private func best(_ kind: AVMediaType) -> MediaStream? {
        let index = av_find_best_stream(context, kind, -1, -1, nil, 0)
        return index < 0 ? nil : MediaStream(context!.pointee.streams[Int(index)]!)
    }

    /// The next packet of a stream. It is valid until the next call.
    func nextPacket(of stream: MediaStream) -> UnsafeMutablePointer<AVPacket>? {
        while true {
            av_packet_unref(packet)
            guard av_read_frame(context, packet) >= 0 else { return nil }
            guard packet.pointee.stream_index == stream.index else { continue }
            let time = packet.pointee.pts == av_no_time ? packet.pointee.dts : packet.pointee.pts
            if let end = stream.milliseconds(at: time, plus: packet.pointee.duration) {
                lastMilliseconds = max(lastMilliseconds, end)
            }
            return packet
        }
    }
}

/// What libavformat reads from.
private final class MemoryReader {
    static let pieceBytes = 64 << 10

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    static func at(_ pointer: UnsafeMutableRawPointer) -> MemoryReader {
        Unmanaged.fromOpaque(pointer).takeUnretainedValue()
    }

    func read(_ target: UnsafeMutablePointer<UInt8>, _ count: Int32) -> Int32 {
        let piece = bytes[position..<min(bytes.count, position + Int(count))]
        guard !piece.isEmpty else { return av_end_of_file }
        UnsafeMutableRawPointer(target).copyMemory(from: bytes.baseAddress! + position, byteCount: piece.count)
        position += piece.count
        return Int32(piece.count)
    }

    func seek(_ offset: Int64, _ origin: Int32) -> Int64 {
        let base: Int
        switch origin & ~AVSEEK_FORCE {
        case AVSEEK_SIZE: return Int64(bytes.count)
        case SEEK_SET: base = 0
        case SEEK_CUR: base = position
        case SEEK_END: base = bytes.count
        default: return -1
        }
        let (target, overflows) = base.addingReportingOverflow(Int(offset))
        guard !overflows, (0...bytes.count).contains(target) else { return -1 }
        position = target
        return Int64(target)
    }
}
