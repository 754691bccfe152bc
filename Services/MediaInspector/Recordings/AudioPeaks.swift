import CAV

/// The peaks of decoded audio.
struct AudioPeaks {
    /// Samples of a channel that have a peak together: 5 ms of a good recording.
    static let samples = 256

    /// Gives the peak of every 256 samples, of all channels, with the position of the first.
    static func visit(_ frame: AVFrame, _ body: (_ peak: Float, _ sample: Int) -> Void) {
        let count = Int(frame.nb_samples)
        guard let planes = frame.extended_data else { return }
        let format = AVSampleFormat(rawValue: frame.format)
        let isPlanar = av_sample_fmt_is_planar(format) != 0
        let channels = Int(frame.ch_layout.nb_channels)
        for start in stride(from: 0, to: count, by: samples) {
            let length = min(samples, count - start)
            var peak: Float = 0
            for plane in 0..<(isPlanar ? channels : 1) {
                guard let bytes = planes[plane] else { continue }
                let width = isPlanar ? 1 : channels
                peak = max(peak, self.peak(bytes, av_get_packed_sample_fmt(format), start * width, length * width))
            }
            body(peak, start)
        }
    }

    private static func peak(
        _ bytes: UnsafeMutablePointer<UInt8>, _ format: AVSampleFormat, _ start: Int, _ count: Int
    ) -> Float {
        let bytes = UnsafeRawPointer(bytes)
        switch format {
        case AV_SAMPLE_FMT_U8: return largest(bytes, UInt8.self, start, count) { abs(Float($0) - 128) / 128 }
        case AV_SAMPLE_FMT_S16: return largest(bytes, Int16.self, start, count) { abs(Float($0)) / 32_768 }
        case AV_SAMPLE_FMT_S32: return largest(bytes, Int32.self, start, count) { abs(Float($0)) / 2_147_483_648 }
        case AV_SAMPLE_FMT_FLT: return largest(bytes, Float.self, start, count) { abs($0) }
        case AV_SAMPLE_FMT_DBL: return largest(bytes, Double.self, start, count) { abs(Float($0)) }
        default: return 0
        }
    }

    private static func largest<Sample: BitwiseCopyable>(
        _ bytes: UnsafeRawPointer, _ type: Sample.Type, _ start: Int, _ count: Int, _ level: (Sample) -> Float
    ) -> Float {
        let size = MemoryLayout<Sample>.size
        var largest: Float = 0
        for sample in start..<start + count {
            let value = level(bytes.loadUnaligned(fromByteOffset: sample * size, as: Sample.self))
            if value > largest { largest = value }  // Not so where it is no number.
        }
        return largest
    }
}
