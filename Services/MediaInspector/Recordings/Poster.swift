import CAV
import CVips

/// The picture that stands for a video: the first frame on which there is something to be seen.
struct Poster {
    /// So many frames are looked at. If nothing is to be seen on any, it is the first.
    private static let frames = 120
    /// The deviation of the brightness of a frame that is more than black, or a fade.
    private static let something = 8.0

    private let width: Int
    private let height: Int
    private let quarterTurns: Int

    init(_ stream: MediaStream) {
        let longer = max(stream.shownWidth, stream.height)
        let scale = min(1, Double(ThumbnailSize.large.pixels) / Double(longer))
        width = max(1, Int((Double(stream.shownWidth) * scale).rounded()))
        height = max(1, Int((Double(stream.height) * scale).rounded()))
        quarterTurns = stream.quarterTurns
    }

    func picture(of container: Container, _ stream: MediaStream, with decoder: Decoder) throws(Refusal) -> Picture {
        var first: Picture?
        var best: Picture?
        var count = 0
        container.decode(stream, with: decoder) { frame in
            count += 1
            guard let picture = try? self.picture(of: frame) else { return count < Self.frames }
            if first == nil { first = picture }
            if picture.deviation() >= Self.something { best = picture }
            return best == nil && count < Self.frames
        }
        guard let picture = best ?? first else { throw .unreadable }
        return try turned(picture)
    }

    private func picture(of frame: UnsafeMutablePointer<AVFrame>) throws(Refusal) -> Picture {
        let length = width * height * 3
        var pixels = [UInt8](repeating: 0, count: length + 64)
        guard parley_av_to_rgb(frame, &pixels, Int32(width), Int32(height)) == 0 else { throw .unreadable }
        pixels.removeLast(64)
        return try Picture(copying: pixels, width: width, height: height, bands: 3)
    }

    private func turned(_ picture: Picture) throws(Refusal) -> Picture {
        let angles = [VIPS_ANGLE_D0, VIPS_ANGLE_D90, VIPS_ANGLE_D180, VIPS_ANGLE_D270]
        return try picture.applying { [quarterTurns] in parley_vips_rotated($0, $1, angles[quarterTurns]) }.computed()
    }
}
