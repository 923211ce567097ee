package units

import "fmt"

// Percent formats a share of 0 to 1, as "12.3 %", so that a small one is not shown as 0, nor
// one below 100 % as 100.
func Percent(share float64) string {
	switch p := share * 100; {
	case share > 0 && p < 0.01:
		return "<0.01 %"
	case share < 1 && p > 99.99:
		return ">99.99 %"
	case p < 0.1 && p > 0:
		return fmt.Sprintf("%.2f %%", p)
	case p >= 99.95 && share < 1:
		return fmt.Sprintf("%.2f %%", p)
	case share == 1 || share == 0:
		return fmt.Sprintf("%.0f %%", p)
	default:
		return fmt.Sprintf("%.1f %%", p)
	}
}
