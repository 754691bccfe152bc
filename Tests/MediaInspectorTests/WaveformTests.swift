import Testing

@testable import MediaInspector

@Suite struct WaveformTests {
    @Test("each of 64 parts has its peak", arguments: [64, 640, 5_000, 600_000, 86_400_000])
    func parts(total: Int) {
        var waveform = Waveform()
        for part in 0..<64 { waveform.add(Float(part) / 63, at: (part * total + total / 2) / 64) }
        let values = waveform.values(ofMilliseconds: total)
        #expect(values.count == 64)
        for part in 0..<64 where total >= 5_000 { #expect(abs(Int(values[part]) - part * 255 / 63) <= 5) }
        #expect(values.last == 255)
    }

    @Test("the loudest counts, also when it is louder than the format can say")
    func clipped() {
        var waveform = Waveform()
        for peak in [0.5, 7, 0.1] as [Float] { waveform.add(peak, at: 10) }
        #expect(waveform.values(ofMilliseconds: 20).max() == 255)
    }

    @Test("what is no time and no number is left out")
    func nonsense() {
        var waveform = Waveform()
        waveform.add(.nan, at: 1)
        waveform.add(1, at: -1)
        #expect(waveform.isEmpty)
        #expect(waveform.values(ofMilliseconds: 0) == [UInt8](repeating: 0, count: 64))
    }

    @Test("a time of years takes no more memory")
    func farAway() {
        var waveform = Waveform()
        waveform.add(1, at: 1)
        waveform.add(1, at: 1 << 40)
        #expect(waveform.values(ofMilliseconds: 1 << 40).filter { $0 == 255 }.count >= 2)
    }
}
