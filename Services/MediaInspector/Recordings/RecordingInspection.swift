import CAV

/// What is told of video and audio. The file itself stays the content, with its metadata.
struct RecordingInspection {
    /// Of a long recording that much of each of the 64 parts is listened to.
    private static let heardMilliseconds = 20_000

    let bounds: Bounds
    let pictures: PictureInspection

    func inspect(_ format: RecordingFormat, _ bytes: UnsafeRawBufferPointer, facts: inout Facts) throws(Refusal) {
        let container = try Container(bytes, demuxer: format.demuxer)
        if let video = container.video {
            facts.type = format.video
            try inspect(video: video, of: container, facts: &facts)
        } else if let audio = container.audio {
            facts.type = format.audio
            try inspect(audio: audio, of: container, facts: &facts)
        } else {
            throw .unreadable
        }
    }

    private func inspect(video: MediaStream, of container: Container, facts: inout Facts) throws(Refusal) {
        try bounds.check(width: max(video.codedWidth, video.shownWidth), height: video.height, frames: 1)
        let isTurned = video.quarterTurns % 2 == 1
        facts.width = isTurned ? video.height : video.shownWidth
        facts.height = isTurned ? video.shownWidth : video.height
        if let decoder = try Decoder(video, bounds: bounds) {
            let poster = try Poster(video).picture(of: container, video, with: decoder)
            try pictures.describe(poster, in: &facts)
        }
        if container.milliseconds == nil { container.readToEnd(of: video) }
        facts.duration = container.milliseconds ?? container.lastMilliseconds
    }

    private func inspect(audio: MediaStream, of container: Container, facts: inout Facts) throws(Refusal) {
        guard let decoder = try Decoder(audio, bounds: bounds) else {
            if container.milliseconds == nil { container.readToEnd(of: audio) }
            facts.duration = container.milliseconds ?? container.lastMilliseconds
            return
        }
        let (waveform, heard) = listen(to: audio, of: container, with: decoder)
        guard !waveform.isEmpty else { throw .unreadable }
        // What a recorder that was cut off had planned is not what there is to hear.
        let duration = container.milliseconds ?? max(heard, container.lastMilliseconds)
        facts.duration = duration
        facts.waveform = waveform.values(ofMilliseconds: duration)
    }

    private func listen(
        to audio: MediaStream, of container: Container, with decoder: Decoder
    ) -> (Waveform, milliseconds: Int) {
        var waveform = Waveform()
        var now = 0
        container.decode(audio, with: decoder, wanted: Self.isHeard(ofMilliseconds: container.milliseconds)) { frame in
            let rate = max(1, Int(frame.pointee.sample_rate))
            let start = audio.milliseconds(at: frame.pointee.best_effort_timestamp) ?? now
            AudioPeaks.visit(frame.pointee) { waveform.add($0, at: start + $1 * 1000 / rate) }
            now = start + Int(frame.pointee.nb_samples) * 1000 / rate
            return true
        }
        return (waveform, now)
    }

    private static func isHeard(ofMilliseconds total: Int?) -> (Int?) -> Bool {
        let part = (total ?? 0) / Waveform.values
        guard part > heardMilliseconds else { return { _ in true } }
        return { time in time.map { $0 % part < heardMilliseconds } ?? true }
    }
}
