import Testing

@testable import ParleyLoad

@Suite struct HistogramTests {
    @Test("every value is in a bucket whose edge is at most 1/128 above it")
    func precision() {
        var value: UInt64 = 1
        while value < 1 << 43 {
            for near in [value - 1, value, value + value / 3] where near < 1 << 43 {
                let edge = Histogram.upperEdge(of: Histogram.index(of: near))
                #expect(edge >= near && edge - near <= near / 128, "\(near) in the bucket up to \(edge)")
            }
            value *= 2
        }
    }

    @Test("buckets follow each other without gap or overlap")
    func buckets() {
        let edges = (0..<5000).map(Histogram.upperEdge(of:))
        for (index, edge) in edges.enumerated().dropLast() {
            #expect(Histogram.index(of: edge) == index)
            #expect(Histogram.index(of: edge + 1) == index + 1)
        }
    }

    @Test("percentiles are the values at their ranks, the maximum exact")
    func percentiles() {
        var histogram = Histogram()
        for value in 1...1000 { histogram.record(nanoseconds: UInt64(value) * 1_000_000) }
        #expect(histogram.count == 1000)
        for share in [0.5, 0.9, 0.99, 0.999] {
            let exact = share * 1e9
            let told = Double(histogram.percentile(share))
            #expect(told >= exact && told <= exact * 129 / 128, "\(share): \(told)")
        }
        #expect(histogram.percentile(1) == 1_000_000_000)
        #expect(Histogram().percentile(0.5) == 0)
    }

    @Test("two histograms together are the histogram of both")
    func together() {
        var (first, second, both) = (Histogram(), Histogram(), Histogram())
        for value in stride(from: UInt64(1), to: 100_000, by: 7) {
            value % 2 == 0 ? first.record(nanoseconds: value) : second.record(nanoseconds: value)
            both.record(nanoseconds: value)
        }
        first.record(contentsOf: second)
        #expect(first.count == both.count)
        #expect([0.1, 0.5, 0.999, 1].map(first.percentile) == [0.1, 0.5, 0.999, 1].map(both.percentile))
    }

    @Test("what took longer than anything is counted, and told as the maximum")
    func overflow() {
        var histogram = Histogram()
        histogram.record(nanoseconds: .max)
        #expect(histogram.percentile(0.5) == .max)
    }
}
