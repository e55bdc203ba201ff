package main

import (
	"fmt"
	"io"
	"math"
)

// writeModel fits the costs to the results by least squares: memory in MB, and processor time of an event in ms.
func writeModel(w io.Writer, results []result) error {
	var rows [][]float64
	var memory, cpu []float64
	for _, r := range results {
		rows = append(rows, []float64{1, float64(r.watchers) / 1000, float64(r.objects) / 1000})
		memory = append(memory, megabytes(r.idle))
		cpu = append(cpu, r.still.cpu.Seconds()*1000)
	}
	for _, f := range []struct {
		what, unit string
		values     []float64
	}{{"memory", "MB", memory}, {"processor time of an event", "ms", cpu}} {
		at := fit(rows, f.values)
		rms, worst := residuals(rows, f.values, at)
		if _, err := fmt.Fprintf(w, "%s = %.2f + %.3f per 1,000 watchers + %.3f per 1,000 objects %s; %d points, error %.2f (rms), %.2f (worst) %s\n",
			f.what, at[0], at[1], at[2], f.unit, len(rows), rms, worst, f.unit); err != nil {
			return err
		}
	}
	return nil
}

// fit returns the coefficients of the columns with the least sum of squares of relative errors, so that small points count as much as
// large ones.
func fit(rows [][]float64, values []float64) []float64 {
	n := len(rows[0])
	system := make([][]float64, n) // the normal equations, with their right side as the last column
	for i := range system {
		system[i] = make([]float64, n+1)
		for k, row := range rows {
			weight := 1 / (values[k] * values[k])
			for j := range n {
				system[i][j] += weight * row[i] * row[j]
			}
			system[i][n] += weight * row[i] * values[k]
		}
	}
	return solve(system)
}

// solve solves a system of linear equations by elimination.
func solve(system [][]float64) []float64 {
	n := len(system)
	for i := range n {
		pivot := i
		for k := i + 1; k < n; k++ {
			if math.Abs(system[k][i]) > math.Abs(system[pivot][i]) {
				pivot = k
			}
		}
		system[i], system[pivot] = system[pivot], system[i]
		for k := range n {
			if k == i {
				continue
			}
			factor := system[k][i] / system[i][i]
			for j := i; j <= n; j++ {
				system[k][j] -= factor * system[i][j]
			}
		}
	}
	solution := make([]float64, n)
	for i := range n {
		solution[i] = system[i][n] / system[i][i]
	}
	return solution
}

// residuals returns the error of a fit: the root of the mean square, and the largest one.
func residuals(rows [][]float64, values, at []float64) (rms, worst float64) {
	for k, row := range rows {
		predicted := 0.0
		for j, x := range row {
			predicted += at[j] * x
		}
		rest := math.Abs(predicted - values[k])
		rms += rest * rest
		worst = max(worst, rest)
	}
	return math.Sqrt(rms / float64(len(rows))), worst
}
