import CAV

/// The decoder of one stream.
final class Decoder {
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var frame = av_frame_alloc()

    /// None for a codec that is not decoded here.
    init?(_ stream: MediaStream, bounds: Bounds) throws(Refusal) {
        guard let codec = Codecs.find(stream.parameters) else { return nil }
        context = avcodec_alloc_context3(codec)
        context!.pointee.thread_count = 1
        context!.pointee.max_pixels = Int64(bounds.pixels)
        guard avcodec_parameters_to_context(context, stream.parameters) >= 0, avcodec_open2(context, codec, nil) == 0
        else {
            throw .unreadable
        }
    }

    deinit {
        av_frame_free(&frame)
        avcodec_free_context(&context)
    }

    /// Gives the frames that a packet, or without one the end, brings, until `take` wants no more. Damaged packets bring none.
    func decode(_ packet: UnsafeMutablePointer<AVPacket>?, _ take: (UnsafeMutablePointer<AVFrame>) -> Bool) -> Bool {
        guard avcodec_send_packet(context, packet) == 0 else { return true }
        while avcodec_receive_frame(context, frame) == 0 {
            guard take(frame!) else { return false }
        }
        return true
    }
}

extension Container {
    /// Decodes the packets of a stream that are wanted, by their time, one after the other.
    func decode(
        _ stream: MediaStream, with decoder: Decoder, wanted: (Int?) -> Bool = { _ in true },
        _ take: (UnsafeMutablePointer<AVFrame>) -> Bool
    ) {
        while let packet = nextPacket(of: stream) {
            guard wanted(stream.milliseconds(at: packet.pointee.pts)) else { continue }
            guard decoder.decode(packet, take) else { return }
        }
        _ = decoder.decode(nil, take)
    }

    func readToEnd(of stream: MediaStream) {
        while nextPacket(of: stream) != nil {}
    }
}
